"""A cheap world that measures itself, for the bench of the host."""

import time

try:
    import numpy
except ImportError:
    numpy = None


class Timed:
    possible_agents = ["one", "two"]
    action_names = ["stay", "go"]
    tick_hz = 0
    own_ns = 0

    def reset(self, seed=None, options=None):
        self.values = [float(seed % 7)] * 16
        return {"one": self.values, "two": self.values}, {}

    def step(self, actions):
        began = time.perf_counter_ns()
        self.values = [value + actions["one"] for value in self.values]
        ends = {"one": False, "two": False}
        result = {"one": self.values, "two": self.values}, {"one": 1.0, "two": 0.0}, ends, ends, {}
        self.own_ns += time.perf_counter_ns() - began
        return result

    def describe(self, seat):
        """The time in the environment's own step so far, ns."""
        return str(self.own_ns)

    def draw(self, seat):
        shapes = [{"rect": [at, 0, 1, 1], "color": "red", "id": at + 1} for at in range(20)]
        return {"width": 20, "height": 1, "shapes": shapes}


class Pixels(Timed):
    """The same with the picture and the observation of an Atari game."""

    def reset(self, seed=None, options=None):
        self.frame = numpy.zeros((210, 160, 3), numpy.uint8)
        return {"one": self.frame, "two": self.frame}, {}

    def step(self, actions):
        began = time.perf_counter_ns()
        ends = {"one": False, "two": False}
        result = {"one": self.frame, "two": self.frame}, {"one": 1.0, "two": 0.0}, ends, ends, {}
        self.own_ns += time.perf_counter_ns() - began
        return result

    def draw(self, seat):
        return self.frame
