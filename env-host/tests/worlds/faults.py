"""Worlds that go wrong, each in its way, at the action `act`."""

import os
import subprocess
import sys


class Fault:
    possible_agents = ["one"]
    action_names = ["stay", "act"]
    tick_hz = 10
    event_names = ["tick"]

    def reset(self, seed=None, options=None):
        self.steps = 0
        print("a print of the environment")
        return {"one": [0.0]}, {"one": {}}

    def step(self, actions):
        self.steps += 1
        if actions["one"] == 1:
            self.act()
        info = {"steps": self.steps, "events": [{"kind": "tick", "value": self.steps}]}
        return {"one": [float(self.steps)]}, {"one": 0.5}, {"one": self.steps == 9}, {"one": False}, {"one": info}

    def act(self):
        pass


class Throw(Fault):
    def act(self):
        raise KeyError("the pot is gone")


class Hang(Fault):
    def act(self):
        while True:
            pass


class Exit(Fault):
    def act(self):
        print("I leave", file=sys.stderr, flush=True)
        os._exit(7)


class Leak(Fault):
    def act(self):
        self.kept = [bytes(1 << 20) for _ in range(1 << 14)]


class Child(Fault):
    """Starts a process, and tells its number."""

    def reset(self, seed=None, options=None):
        if not hasattr(self, "child"):
            self.child = subprocess.Popen([sys.executable, "-c", "import time\nwhile True: time.sleep(9)"])
        return super().reset(seed)

    def describe(self, seat):
        return str(self.child.pid)


class Pictures(Fault):
    """Draws every shape, and names a sprite that is not there at the action."""

    sprites = {"cup": "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 1 1'/>"}
    wrong = False

    def act(self):
        self.wrong = True

    def draw(self, seat):
        shapes = [
            {"rect": [0, 0, 1, 2], "color": "#123", "radius": 0.25, "id": 7},
            {"circle": [3, 3, 1], "color": [1, 2, 3]},
            {"ellipse": [0, 0, 1, 2], "color": "red"},
            {"line": [0, 1, 4, 1], "width": 0.5},
            {"text": "hello", "at": [2, 2], "size": 1},
            {"sprite": "hat" if self.wrong else "cup", "at": [1, 1, 1, 1]},
            {"progress": 0.5, "at": [1, 1, 1, 1], "color": "#11223344"},
        ]
        return {"width": 8, "height": 4, "background": "white", "shapes": shapes}


def choose(observation, seat):
    return "act" if observation[0] == 2 else "stay"
