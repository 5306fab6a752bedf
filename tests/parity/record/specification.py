"""The dialects that no package has, recorded from their executable specification."""

import ast
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "spec"))

import kitchen as spec
import kitchens
from recording import finite

# Kitchens by name, as the tests of the environment read them too.
NAMED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "spec", "layouts.json")


def dialect(name):
    known = {"neurips2019": Neurips2019, "zsc-eval": ZscEval, "cec": Cec}
    if name not in known:
        sys.exit(f"there is no dialect {name}; there are overcooked-ai-1.1.0, overcooked-ai-old, jaxmarl-0.2.0, {', '.join(known)}")
    return known[name]()


def read(text):
    """The keys of a layout file, its rows without starts, and the starts."""
    layout = ast.literal_eval(text)
    rows = [row.strip() for row in layout.pop("grid").split("\n")]
    starts = {sign: (x, y) for y, row in enumerate(rows) for x, sign in enumerate(row) if sign.isdigit()}
    return layout, [re.sub("[0-9]", " ", row) for row in rows], [starts[sign] for sign in sorted(starts)]


class Named:
    original = "executable specification"
    events = False
    order = True

    def named(self):
        import json

        with open(NAMED) as file:
            return json.load(file)[self.name]


class Neurips2019(Named):
    name = "neurips2019"

    def random(self, seed, count):
        return kitchens.random_kitchens(kitchens.of_2019, seed, count)

    def open(self, text, horizon, rng):
        layout, rows, starts = read(text)
        layout.pop("start_order_list", None)
        kitchen = Recorded(spec.Neurips2019(rows, starts, horizon, **layout))
        two, plain = len(starts) == 2, not any("T" in row for row in rows)
        kitchen.encodings = (["neurips2019"] if plain else []) + (["neurips2019_features"] if two and plain else [])
        if not kitchen.encodings:
            kitchen.encodings = ["features" if len(starts) > 1 else "lossless"]
            kitchen.unobserved = True
        kitchen.orders = [letter * kitchen.world.full for letter in "ot" if any(letter.upper() in row for row in rows)]
        kitchen.mixes, kitchen.sum_shaped = False, True
        return kitchen


class ZscEval(Named):
    name = "zsc-eval"

    def random(self, seed, count):
        return kitchens.random_kitchens(lambda rng: kitchens.with_orders(rng, self.name), seed, count)

    def open(self, text, horizon, rng):
        layout, rows, starts = read(text.replace("float('inf')", "1.7976931348623157e308"))
        kitchen = Recorded(spec.ZscEval(rows, starts, horizon, layout))
        two = len(starts) == 2
        kitchen.encodings = ["zsc_eval"] if two else ["features" if len(starts) > 1 else "lossless"]
        kitchen.unobserved, kitchen.masked = not two, True
        has = {letter.lower() for row in rows for letter in row if letter in "OT"}
        kitchen.orders = [order for order in kitchen.world.ordered if set(order) <= has] or ["ooo"]
        return kitchen


class Cec(Named):
    name = "cec"
    order = False

    def random(self, seed, count):
        return kitchens.random_kitchens(lambda rng: kitchens.of_jaxmarl(rng, most=9), seed, count)

    def open(self, text, horizon, rng):
        rows = text.split("\n")
        starts = [(x, y) for y, row in enumerate(rows) for x, sign in enumerate(row) if sign == "A"]
        rows = [row.translate(str.maketrans("WABX", "X DS")) for row in rows]
        kitchen = Recorded(None)
        kitchen.encodings, kitchen.orders, kitchen.cooks = ["cec"], ["ooo"], 2
        kitchen.make = lambda directions: spec.Cec(rows, starts, directions, horizon)
        return kitchen


class Recorded:
    """A kitchen of the specification as the recorder wants it."""

    params = {}
    mixes, sum_shaped, masked, unobserved = True, False, False, False
    make = None

    def __init__(self, world):
        self.first = world
        self.world = world
        self.cooks = len(world.where) if world else 2

    def reset(self, rng):
        import copy

        if self.make:
            directions = [rng.randrange(4) for _ in range(2)]
            self.world = self.make(directions)
            return directions
        self.world = copy.deepcopy(self.first)
        return [0] * self.cooks

    def step(self, actions):
        delivered = sum(
            action == spec.INTERACT and self.world.hands[cook].startswith("s") and self.world.tile(self.world.ahead(cook)) == "S"
            for cook, action in enumerate(actions)
        )
        points, shaped = self.world.step(actions)
        shaped = [sum(shaped)] if self.sum_shaped else shaped
        return {
            "r": [finite(points)] * self.cooks,
            "sr": [float(amount) for amount in shaped],
            "done": self.world.steps >= self.world.horizon,
        }, delivered

    def observe(self):
        if self.unobserved:
            return []
        world = self.world
        ways = {
            "neurips2019": lambda seat: world.channels20(seat),
            "neurips2019_features": lambda seat: world.features62(seat),
            "zsc_eval": lambda seat: world.channels25(seat),
            "cec": lambda seat: world.channels26(seat),
        }
        return [[ways[name](seat) for name in self.encodings] for seat in range(self.cooks)]

    def record(self):
        world = self.world
        players = [[*world.where[cook], world.facing[cook], world.hands[cook]] for cook in range(self.cooks)]
        pots = [
            [x, y, letters.count("o"), letters.count("t"), -1 if tick is None else tick]
            for (x, y), (letters, tick) in world.pots.items()
        ]
        lying = [[x, y, thing] for (x, y), thing in world.lying.items()]
        record = {"players": players, "pots": pots, "lying": lying, "t": world.steps}
        if self.masked:
            record["mask"] = [world.mask(cook) for cook in range(self.cooks)]
        return record

    def view(self):
        world = self.world
        record = self.record()
        times = {place: world.cook_time(pot[0]) if pot[1] is not None else 0 for place, pot in world.pots.items()}
        return {
            "grid": world.rows,
            "players": record["players"],
            "pots": {p: (pot[0], -1 if pot[1] is None else pot[1], times[p]) for p, pot in world.pots.items()},
            "lying": dict(world.lying),
            "orders": self.orders,
            "starts_by_interact": world.starts_by_interact,
            "mixes": self.mixes,
            "full": world.full,
        }
