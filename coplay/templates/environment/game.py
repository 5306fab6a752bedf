"""Two people collect gems together: an environment to begin with. Change anything."""

import random

WIDTH, HEIGHT, GEMS = 9, 6, 4
MOVES = {"stay": (0, 0), "up": (0, -1), "down": (0, 1), "left": (-1, 0), "right": (1, 0)}
COLORS = ["#3b82f6", "#f28c28"]


class Game:
    # Facts for Coplay. All are optional, except the names of the seats and of the actions.
    title = "My env"
    possible_agents = ["blue", "orange"]
    action_names = list(MOVES)
    keys = {"up": ["ArrowUp", "KeyW"], "down": ["ArrowDown", "KeyS"], "left": ["ArrowLeft", "KeyA"], "right": ["ArrowRight", "KeyD"]}
    tick_hz = 6
    horizon = 6 * 60

    # `reset` and `step` are those of PettingZoo's parallel API. All random numbers come from the seed.
    def reset(self, seed=None, options=None):
        self.random = random.Random(seed)
        self.places = [(1, HEIGHT // 2), (WIDTH - 2, HEIGHT // 2)]
        self.gems = []
        self.grow()
        return self.observations(), {agent: {} for agent in self.possible_agents}

    def step(self, actions):
        rewards = {agent: 0.0 for agent in self.possible_agents}
        for seat, agent in enumerate(self.possible_agents):
            dx, dy = MOVES[self.action_names[actions[agent]]]
            x, y = self.places[seat][0] + dx, self.places[seat][1] + dy
            if 0 <= x < WIDTH and 0 <= y < HEIGHT and (x, y) not in self.places:
                self.places[seat] = (x, y)
            if self.places[seat] in self.gems:
                self.gems.remove(self.places[seat])
                rewards[agent] = 1.0
        self.grow()
        going_on = {agent: False for agent in self.possible_agents}
        return self.observations(), rewards, going_on, going_on, {agent: {} for agent in self.possible_agents}

    def grow(self):
        while len(self.gems) < GEMS:
            place = (self.random.randrange(WIDTH), self.random.randrange(HEIGHT))
            if place not in self.gems and place not in self.places:
                self.gems.append(place)

    def observations(self):
        """For each seat: its own place, the other's place, the places of the gems."""
        rows = [[*own, *other, *(at for gem in self.gems for at in gem)] for own, other in (self.places, self.places[::-1])]
        return dict(zip(self.possible_agents, rows))

    # The picture that a seat sees, in cells. What keeps its `id` glides; `seat + 1` stands for the seat.
    def draw(self, seat):
        shapes = [{"circle": [x + 0.5, y + 0.5, 0.2], "color": "#22a35a"} for x, y in self.gems]
        for other, (x, y) in enumerate(self.places):
            shapes.append({"rect": [x + 0.1, y + 0.1, 0.8, 0.8], "radius": 0.2, "color": COLORS[other], "id": other + 1})
        return {"width": WIDTH, "height": HEIGHT, "background": "#f4f1ea", "shapes": shapes}


def make():
    return Game()
