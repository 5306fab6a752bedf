"""Two people race for a coin on a small field; a PettingZoo environment without any package."""

import random


class Race:
    possible_agents = ["red", "blue"]
    action_names = ["stay", "up", "down", "left", "right"]
    keys = {"up": ["ArrowUp"], "down": ["ArrowDown"], "left": ["ArrowLeft"], "right": ["ArrowRight"]}
    metadata = {"render_fps": 10}
    horizon = 200
    version = "1.0.0"

    def __init__(self, size=5):
        self.size = size

    def reset(self, seed=None, options=None):
        self.rng = random.Random(seed)
        self.agents = list(self.possible_agents)
        self.at = {"red": [0, 0], "blue": [self.size - 1, self.size - 1]}
        self.friends = {"best": self.at["red"]}
        self.seen = {"start", "coin"}
        self.place_coin()
        return self.observe_all(), {name: {} for name in self.agents}

    def place_coin(self):
        self.coin = [self.rng.randrange(self.size), self.rng.randrange(self.size)]

    def observe_all(self):
        return {name: [*self.at[name], *self.coin] for name in self.possible_agents}

    def step(self, actions):
        rewards = dict.fromkeys(self.possible_agents, 0.0)
        for name, action in actions.items():
            dx, dy = [(0, 0), (0, -1), (0, 1), (-1, 0), (1, 0)][action]
            place = self.at[name]
            place[0] = min(max(place[0] + dx, 0), self.size - 1)
            place[1] = min(max(place[1] + dy, 0), self.size - 1)
            if place == self.coin:
                rewards[name] += 1.0
                self.place_coin()
        never = dict.fromkeys(self.possible_agents, False)
        return self.observe_all(), rewards, never, dict(never), {name: {} for name in self.agents}

    def draw(self, seat):
        shapes = [{"circle": [self.coin[0] + 0.5, self.coin[1] + 0.5, 0.3], "color": "yellow"}]
        for index, name in enumerate(self.possible_agents):
            x, y = self.at[name]
            shapes.append({"rect": [x + 0.1, y + 0.1, 0.8, 0.8], "color": name, "id": index + 1})
        return {"width": self.size, "height": self.size, "background": "#222", "shapes": shapes}


def make(size=5):
    return Race(size)
