"""The packages `overcooked-ai` 1.1.0 and `overcooked` 0.2.1 (with its old dynamics)."""

import ast
import contextlib
import io
import os

import kitchens
from recording import finite, soup


class Dialect:
    """One of the two packages; each kitchen is recorded in a separate process, because recipes are global there."""

    events = True
    order = True

    def __init__(self, name):
        self.name, self.old = name, name == "overcooked-ai-old"
        if self.old:
            import overcooked.mdp.overcooked_mdp as mdp
            import overcooked.mdp.actions as actions
            import overcooked.planning.planners as planners

            self.original = "overcooked 0.2.1"
        else:
            import overcooked_ai_py.mdp.overcooked_mdp as mdp
            import overcooked_ai_py.mdp.actions as actions
            import overcooked_ai_py.planning.planners as planners

            self.original = "overcooked-ai 1.1.0"
        self.mdp, self.planners, self.actions = mdp, planners, actions.Action.INDEX_TO_ACTION
        self.folder = os.path.join(os.path.dirname(os.path.dirname(mdp.__file__)), "data", "layouts")

    def named(self):
        names = sorted(name[:-7] for name in os.listdir(self.folder) if name.endswith(".layout"))
        texts = {name: open(os.path.join(self.folder, name + ".layout")).read() for name in names}
        return {name: text for name, text in texts.items() if self.fits(text)}

    def fits(self, text):
        layout = evaluate(text)
        orders = layout.get("start_all_orders")
        return not self.old or bool(orders) and all(len(order["ingredients"]) == 3 for order in orders)

    def random(self, seed, count):
        return kitchens.random_kitchens(lambda rng: kitchens.with_orders(rng, self.name), seed, count)

    def open(self, text, horizon, rng):
        return Kitchen(self, evaluate(text), horizon)


def evaluate(text):
    """Reads a layout file as the packages do; a copy of it that came out of a recording is a literal."""
    try:
        return ast.literal_eval(text)
    except ValueError:
        return eval(text, {"float": float, "__builtins__": {}})


class Kitchen:
    def __init__(self, dialect, layout, horizon):
        self.dialect, self.horizon, mdp = dialect, horizon, dialect.mdp
        layout = dict(layout)
        rows = [row.strip() for row in layout.pop("grid").split("\n")]
        # Unless a kitchen was opened before, the packages cannot read the orders of a start state.
        mdp.Recipe.configure({})
        if layout.get("start_state"):
            layout["start_state"] = mdp.OvercookedState.from_dict(layout["start_state"])
        if dialect.old:
            layout["old_dynamics"] = True
        self.world = mdp.OvercookedGridworld.from_grid(rows, layout)
        self.cooks = self.world.num_players
        self.grid = ["".join(row) for row in self.world.terrain_mtx]
        self.encodings = (["lossless"] if self.cooks == 2 else []) + (["features"] if self.cooks >= 2 else [])
        self.planners = {}
        recipes = mdp.Recipe.ALL_RECIPES
        recipes = recipes() if callable(recipes) else recipes
        start = self.world.get_standard_start_state()
        self.orders = ["".join(sorted(name[0] for name in r.ingredients)) for r in start.all_orders]
        self.recipe = mdp.Recipe

    def plan(self, counter_goals):
        """Distances without counters as goals, or with every counter as one."""
        if counter_goals not in self.planners:
            goals = self.world.get_counter_locations() if counter_goals else []
            with contextlib.redirect_stdout(io.StringIO()):
                self.planners[counter_goals] = Planner(self.dialect.planners.MotionPlanner(self.world, counter_goals=goals))
        return self.planners[counter_goals]

    def reset(self, rng):
        counter_goals = "features" in self.encodings and rng.random() < 0.4
        self.params = {"counter_goals": True} if counter_goals else {}
        self.planner = self.plan(counter_goals)
        self.state = self.world.get_standard_start_state().deepcopy()
        return [0] * self.cooks if not self.world.start_state else None

    def step(self, actions):
        joint = tuple(self.dialect.actions[action] for action in actions)
        self.state, infos = self.world.get_state_transition(self.state, joint)
        reward = finite(sum(infos["sparse_reward_by_agent"]))
        events = infos["event_infos"]
        told = [sorted(kind for kind, happened in events.items() if happened[seat]) for seat in range(self.cooks)]
        return {
            "r": [reward] * self.cooks,
            "sr": [float(shaped) for shaped in infos["shaped_reward_by_agent"]],
            "e": told,
            "done": self.state.timestep >= self.horizon,
        }, sum(events["soup_delivery"])

    def observe(self):
        by_encoding = []
        if "lossless" in self.encodings:
            by_encoding.append(self.world.lossless_state_encoding(self.state, horizon=self.horizon))
        if "features" in self.encodings:
            by_encoding.append(self.world.featurize_state(self.state, self.planner))
        return [[values[seat] for values in by_encoding] for seat in range(self.cooks)]

    def thing(self, thing):
        if thing is None:
            return ""
        if thing.name == "soup":
            return soup(thing.ingredients.count("onion"), thing.ingredients.count("tomato"))
        return thing.name[0]

    def record(self):
        ways = [(0, -1), (0, 1), (1, 0), (-1, 0)]
        players = [[*p.position, ways.index(tuple(p.orientation)), self.thing(p.held_object)] for p in self.state.players]
        pots, lying = [], []
        for place in self.world.get_pot_locations():
            pot = self.state.objects.get(place)
            names = pot.ingredients if pot else []
            tick = pot._cooking_tick if pot else -1
            pots.append([*place, names.count("onion"), names.count("tomato"), tick])
        counters = set(self.world.get_counter_locations())
        for place, thing in self.state.objects.items():
            if place in counters:
                lying.append([*place, self.thing(thing)])
        return {"players": players, "pots": pots, "lying": lying, "t": self.state.timestep}

    def view(self):
        pots = {}
        for place in self.world.get_pot_locations():
            pot = self.state.objects.get(place)
            letters = "".join(name[0] for name in pot.ingredients) if pot else ""
            time = 0 if not letters or pot.is_idle else pot.cook_time
            pots[place] = (letters, pot._cooking_tick if pot else -1, time)
        record = self.record()
        return {
            "grid": self.grid,
            "players": record["players"],
            "pots": pots,
            "lying": {(x, y): thing for x, y, thing in record["lying"]},
            "orders": self.makeable(),
            "starts_by_interact": not self.dialect.old,
            "mixes": True,
            "full": self.recipe.MAX_NUM_INGREDIENTS,
        }

    def makeable(self):
        """The orders whose ingredients the kitchen has."""
        has = {letter.lower() for row in self.grid for letter in row if letter in "OT"}
        return [order for order in self.orders if set(order) <= has] or ["ooo"]


class Planner:
    """The distances of the package's planner; the fork's own search has lost the argument that `featurize_state` gives."""

    def __init__(self, planner):
        self.planner = planner
        self.motion_planner = self

    def min_cost_to_feature(self, start, places, with_argmin=False):
        best, least = None, float("inf")
        for place in places:
            for goal in self.planner.motion_goals_for_pos[place]:
                if self.planner.is_valid_motion_start_goal_pair(start, goal):
                    cost = self.planner.get_gridworld_distance(start, goal)
                    if cost < least:
                        best, least = place, cost
        return (least + 1, best) if with_argmin else least + 1
