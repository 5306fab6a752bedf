"""The dialects that no package has, by a checkout of their repository: `main.py neurips2019|zsc-eval --original DIR`.

Needs the Python of `overcooked-ai-1.1.0`. DIR is a checkout of overcooked_ai at the tag `neurips2019`, or of ZSC-Eval.
"""

import contextlib
import importlib
import io
import os
import sys
import types

import numpy as np

import kitchens
import package
from recording import finite, soup

# The folder of the game in each checkout.
GAMES = {"neurips2019": "overcooked_ai_py", "zsc-eval": "zsceval/envs/overcooked_new/src/overcooked_ai_py"}
WAYS = [(0, -1), (0, 1), (1, 0), (-1, 0)]


def dialect(name, checkout):
    if name not in GAMES:
        sys.exit(f"--original is for {', '.join(GAMES)}")
    return {"neurips2019": Neurips2019, "zsc-eval": ZscEval}[name](checkout)


def modules(name, checkout):
    sys.path.insert(0, checkout)
    game = GAMES[name].replace("/", ".")
    return [importlib.import_module(f"{game}.{part}") for part in ("mdp.overcooked_mdp", "mdp.actions", "planning.planners")]


class ZscEval(package.Dialect):
    name, original, old = "zsc-eval", "the repository of ZSC-Eval", False

    def __init__(self, checkout):
        self.mdp, actions, self.planners = modules(self.name, checkout)
        self.actions = actions.Action.INDEX_TO_ACTION
        self.folder = os.path.join(checkout, GAMES[self.name], "data/layouts")

    def open(self, text, horizon, rng):
        layout = package.evaluate(text)
        # It never begins with this state.
        layout.pop("start_state", None)
        return ZscKitchen(self, layout, horizon)


class ZscKitchen(package.Kitchen):
    def __init__(self, dialect, layout, horizon):
        super().__init__(dialect, layout, horizon)
        self.unobserved = self.cooks != 2
        self.encodings = ["zsc_eval"] if self.cooks == 2 else ["features" if self.cooks > 1 else "lossless"]

    def observe(self):
        if self.unobserved:
            return []
        maps = self.world.lossless_state_encoding(self.state, horizon=self.horizon)
        return [[np.asarray(values) * 255] for values in maps]


class Neurips2019:
    name, original, events, order = "neurips2019", "the repository of overcooked_ai", False, True

    def __init__(self, checkout):
        self.mdp, actions, self.planners = modules(self.name, checkout)
        self.actions = actions.Action.INDEX_TO_ACTION
        self.folder = os.path.join(checkout, GAMES[self.name], "data/layouts")

    def named(self):
        files = sorted(name for name in os.listdir(self.folder) if name.endswith(".layout"))
        return {name.removesuffix(".layout"): open(os.path.join(self.folder, name)).read() for name in files}

    def random(self, seed, count):
        return kitchens.random_kitchens(kitchens.of_2019, seed, count)

    def open(self, text, horizon, rng):
        return Kitchen2019(self, package.evaluate(text), horizon)


class Kitchen2019:
    params = {}

    def __init__(self, dialect, layout, horizon):
        self.dialect, self.horizon = dialect, horizon
        rows = [row.strip() for row in layout.pop("grid").split("\n")]
        self.world = dialect.mdp.OvercookedGridworld.from_grid(rows, layout)
        self.cooks = self.world.num_players
        self.grid = ["".join(row) for row in self.world.terrain_mtx]
        found = {letter for row in self.grid for letter in row}
        self.unobserved = "T" in found
        self.encodings = ["neurips2019"] + (["neurips2019_features"] if self.cooks == 2 else [])
        if self.unobserved:
            self.encodings = ["features" if self.cooks > 1 else "lossless"]
        self.orders = [letter * self.world.num_items_for_soup for letter in "ot" if letter.upper() in found]
        with contextlib.redirect_stdout(io.StringIO()):
            motion = dialect.planners.MotionPlanner(self.world, counter_goals=[])
        self.planner = types.SimpleNamespace(mp=motion)

    def reset(self, rng):
        self.steps = 0
        self.state = self.world.get_standard_start_state().deepcopy()
        return [0] * self.cooks

    def step(self, actions):
        joint = tuple(self.dialect.actions[action] for action in actions)
        self.state, paid, shaped = self.world.get_state_transition(self.state, joint)
        self.steps += 1
        return {
            "r": [finite(paid)] * self.cooks,
            "sr": [float(shaped)],
            "done": self.steps >= self.horizon,
        }, round(paid / self.world.delivery_reward)

    def observe(self):
        if self.unobserved:
            return []
        seen = [self.world.lossless_state_encoding(self.state)]
        if self.cooks == 2:
            seen.append(self.world.featurize_state(self.state, self.planner))
        return [[values[seat] for values in seen] for seat in range(self.cooks)]

    def thing(self, thing):
        if thing is None:
            return ""
        if thing.name == "soup":
            kind, count, _ = thing.state
            return soup(count * (kind == "onion"), count * (kind == "tomato"))
        return thing.name[0]

    def record(self):
        players = [[*p.position, WAYS.index(tuple(p.orientation)), self.thing(p.held_object)] for p in self.state.players]
        pots, counters = [], set(self.world.get_counter_locations())
        for place in self.world.get_pot_locations():
            kind, count, time = self.state.get_object(place).state if self.state.has_object(place) else ("", 0, 0)
            tick = time if count == self.world.num_items_for_soup else -1
            pots.append([*place, count * (kind == "onion"), count * (kind == "tomato"), tick])
        lying = [[*place, self.thing(thing)] for place, thing in self.state.objects.items() if place in counters]
        return {"players": players, "pots": pots, "lying": lying, "t": self.steps}

    def view(self):
        record = self.record()
        time = self.world.soup_cooking_time
        return {
            "grid": self.grid,
            "players": record["players"],
            "pots": {(x, y): ("o" * o + "t" * t, tick, time if tick >= 0 else 0) for x, y, o, t, tick in record["pots"]},
            "lying": {(x, y): thing for x, y, thing in record["lying"]},
            "orders": self.orders,
            "starts_by_interact": False,
            "mixes": False,
            "full": self.world.num_items_for_soup,
        }
