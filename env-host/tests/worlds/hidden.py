"""A world whose steps depend on the time: it never repeats itself."""

import time


class Hidden:
    possible_agents = ["one"]
    action_names = ["stay", "go"]
    keys = {"go": ["Space"]}
    tick_hz = 0

    def reset(self, seed=None, options=None):
        return {"one": [0.0]}, {"one": {}}

    def step(self, actions):
        now = float(time.perf_counter_ns() % 1_000_003)
        return {"one": [now]}, {"one": 0.0}, {"one": False}, {"one": False}, {"one": {}}

    def draw(self, seat):
        return [{"rect": [0, 0, 1, 1]}]


def make():
    return Hidden()
