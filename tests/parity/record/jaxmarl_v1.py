"""JaxMARL 0.2.0, its first Overcooked."""

import os
import warnings

os.environ.setdefault("JAX_PLATFORMS", "cpu")
warnings.filterwarnings("ignore")

import jax
import numpy as np
from jaxmarl.environments.overcooked.common import OBJECT_TO_INDEX
from jaxmarl.environments.overcooked.layouts import layout_grid_to_dict, overcooked_layouts
from jaxmarl.environments.overcooked.overcooked import Overcooked

import kitchens

THINGS = {OBJECT_TO_INDEX[name]: letter for name, letter in [("onion", "o"), ("plate", "d"), ("dish", "sooo")]}


class Dialect:
    name, original = "jaxmarl-0.2.0", "jaxmarl 0.2.0"
    events = False
    order = False

    def named(self):
        return {name: letters(layout) for name, layout in overcooked_layouts.items()}

    def random(self, seed, count):
        return kitchens.random_kitchens(kitchens.of_jaxmarl, seed, count)

    def open(self, text, horizon, rng):
        return Kitchen(text, horizon)


def letters(layout):
    """A layout of JaxMARL as rows of letters. Where the first agent stands after the second one, `@` stands for it."""
    cols, rows = layout["width"], layout["height"]
    cells = [" "] * (cols * rows)
    for key, letter in [("wall_idx", "W"), ("goal_idx", "X"), ("plate_pile_idx", "B"), ("onion_pile_idx", "O"), ("pot_idx", "P")]:
        for index in np.asarray(layout[key]).tolist():
            cells[index] = letter
    agents = np.asarray(layout["agent_idx"]).tolist()
    for agent in agents:
        cells[agent] = "A"
    text = "\n".join("".join(cells[row * cols : (row + 1) * cols]) for row in range(rows))
    return ("swapped\n" if agents != sorted(agents) else "") + text


class Kitchen:
    cooks = 2
    encodings = ["jaxmarl"]
    params = {}

    def __init__(self, text, horizon):
        swapped = text.startswith("swapped\n")
        text = text.removeprefix("swapped\n")
        layout = dict(layout_grid_to_dict(text))
        if swapped:
            layout["agent_idx"] = layout["agent_idx"][::-1]
        self.world = Overcooked(layout=layout, max_steps=horizon)
        self.reset_world = jax.jit(self.world.reset)
        self.step_world = jax.jit(self.world.step_env)
        self.grid = [row.translate(str.maketrans("WABX", "X DS")) for row in text.split("\n")]
        self.key = jax.random.PRNGKey(0)

    def reset(self, rng):
        self.observations, self.state = self.reset_world(jax.random.PRNGKey(rng.randrange(2**31)))
        return np.asarray(self.state.agent_dir_idx).tolist()

    def step(self, actions):
        joint = {f"agent_{seat}": action for seat, action in enumerate(actions)}
        self.observations, self.state, rewards, dones, infos = self.step_world(self.key, self.state, joint)
        rewards = [float(rewards[f"agent_{seat}"]) for seat in range(2)]
        return {
            "r": rewards,
            "sr": [float(infos["shaped_reward"][f"agent_{seat}"]) for seat in range(2)],
            "done": bool(dones["__all__"]),
        }, round(rewards[0] / 20)

    def observe(self):
        return [[np.asarray(self.observations[f"agent_{seat}"])] for seat in range(2)]

    def record(self):
        state = self.state
        cols, rows = self.world.width, self.world.height
        edge = (state.maze_map.shape[0] - rows) // 2
        maze = np.asarray(state.maze_map)[edge : edge + rows, edge : edge + cols]
        where, ways, hands = (np.asarray(a).tolist() for a in (state.agent_pos, state.agent_dir_idx, state.agent_inv))
        players = [[*where[seat], ways[seat], THINGS.get(hands[seat], "")] for seat in range(2)]
        pots, lying = [], []
        for y in range(rows):
            for x in range(cols):
                kind, status = int(maze[y, x, 0]), int(maze[y, x, 2])
                if kind == OBJECT_TO_INDEX["pot"]:
                    pots.append([x, y, min(23 - status, 3), 0, -1 if status > 20 else 20 - status])
                elif kind in THINGS:
                    lying.append([x, y, THINGS[kind]])
        return {"players": players, "pots": pots, "lying": lying, "t": int(state.step)}

    def view(self):
        record = self.record()
        return {
            "grid": self.grid,
            "players": record["players"],
            "pots": {(x, y): ("o" * onions, tick, 20) for x, y, onions, _, tick in record["pots"]},
            "lying": {(x, y): thing for x, y, thing in record["lying"]},
            "orders": ["ooo"],
            "starts_by_interact": False,
            "mixes": True,
            "full": 3,
        }
