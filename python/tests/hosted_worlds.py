"""Environments for the tests of the host."""

import random

import gymnasium
import numpy as np
from gymnasium import spaces


class Mixed(gymnasium.Env):
    """Nested spaces of every kind."""

    action_space = spaces.MultiDiscrete([2, 3])
    observation_space = spaces.Dict(
        {
            "image": spaces.Box(0, 255, (2, 2), np.uint8),
            "inner": spaces.Tuple((spaces.Discrete(5), spaces.MultiBinary(3))),
            "words": spaces.Text(8),
            "action_mask": spaces.MultiBinary(6),
        }
    )

    def observation(self):
        image = np.arange(4, dtype=np.uint8).reshape(2, 2)
        mask = np.ones(6, dtype=np.int8)
        return {"image": image, "inner": (4, np.array([1, 0, 1])), "words": "hello", "action_mask": mask}

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self.observation(), {}

    def step(self, action):
        reward = 10.0 * action[0] + action[1]
        return self.observation(), reward, False, False, {"lives": np.int64(3), "array": np.array([1, 2])}


class Unequal:
    """Two seats, of which the second has one action more."""

    possible_agents = ["short", "long"]
    action_spaces = {"short": spaces.Discrete(2), "long": spaces.Discrete(3)}
    action_names = ["stay", "go", "jump"]
    tick_hz = 5

    def reset(self, seed=None, options=None):
        self.random = random.Random(seed)
        return {"short": [0.0], "long": [0.0]}, {}

    def step(self, actions):
        draw = [self.random.random()]
        ends = {"short": False, "long": False}
        return {"short": draw, "long": draw}, dict(actions), ends, ends, {}

    def draw(self, seat):
        return {"width": 2, "height": 1, "shapes": [{"rect": [seat, 0, 1, 1], "id": seat + 1}]}


class Walk:
    """A walk to the end of a corridor: a reward of two parts, and a directive that continues by itself."""

    possible_agents = ["one", "two"]
    action_names = ["wait", "step", "go_to_end"]
    directives = ["go_to_end"]
    component_names = ["end", "effort"]
    reward_range = (-0.25, 1.0)
    perfect_information = True
    tick_hz, horizon = 5, 40
    lost = 0.0

    def reset(self, seed=None, options=None):
        self.places, self.goes = [0, 0], [False, False]
        return self.observe(), {name: {} for name in self.possible_agents}

    def observe(self):
        return {name: [float(place)] for name, place in zip(self.possible_agents, self.places, strict=True)}

    def step(self, actions):
        rewards, infos = {}, {}
        for seat, name in enumerate(self.possible_agents):
            action = self.action_names[actions[name]]
            self.goes[seat] = action == "go_to_end" or (self.goes[seat] and action == "wait")
            moves = (action == "step" or self.goes[seat]) and self.places[seat] < 3
            self.places[seat] += moves
            self.goes[seat] &= self.places[seat] < 3
            parts = {"effort": -0.25 * moves, "end": float(moves and self.places[seat] == 3)}
            rewards[name], infos[name] = sum(parts.values()) + self.lost, {"components": parts}
        never = dict.fromkeys(self.possible_agents, False)
        return self.observe(), rewards, never, never, infos


class Lossy(Walk):
    """Its reward has a part without a name."""

    lost = 0.5


COUNT = 0


class Module(Unequal):
    """Its steps depend on a variable of the module."""

    def step(self, actions):
        global COUNT
        COUNT += 1
        observations, *rest = super().step(actions)
        return {name: [*row, COUNT][-1:] for name, row in observations.items()}, *rest


class OldReset(Mixed):
    """The API before Gymnasium 0.26."""

    def reset(self, seed=None):
        return self.observation()
