"""Writes the tables beside this file: python python/tests/trials/write.py.

Two cooks follow a plan, with random steps between: one puts onions into the pot, the other brings the soup.
"""

from __future__ import annotations

import csv
import json
import random
from pathlib import Path

import numpy as np

from coplay import _coplay

GRID = ["XXPXX", "O  2O", "X1  X", "XDXSX"]
UP, DOWN, RIGHT, LEFT, STAY, INTERACT = range(6)
MOVES = {UP: [0, -1], DOWN: [0, 1], RIGHT: [1, 0], LEFT: [-1, 0], STAY: [0, 0], INTERACT: "INTERACT"}
FACING = [[0, -1], [0, 1], [1, 0], [-1, 0]]

FETCH_ONION = [UP, LEFT, INTERACT, RIGHT, UP, INTERACT, LEFT]
"""From (1, 1) to the onions, to the pot in the middle, and back."""
BRING_SOUP = [DOWN, LEFT, LEFT, DOWN, INTERACT, RIGHT, UP, UP, INTERACT, RIGHT, DOWN, DOWN, INTERACT, UP]
"""From (3, 1) to the dishes, to the pot, and to where soups are delivered."""


def open_kitchen() -> _coplay.World:
    """The kitchen, which is Cramped Room."""
    order = [{"ingredients": ["onion"] * 3}]
    layout = repr({"grid": "\n".join(GRID), "start_all_orders": order})
    params = {"rules": "overcooked-ai-old", "layout": layout, "observation": ["lossless"], "horizon": 400}
    world = _coplay.World("overcooked_ai", json.dumps(params))
    world.reset(0)
    return world


def read_state(world: _coplay.World) -> dict:
    """The cooks, in the words of overcooked-ai."""
    seen = world.observe(0).reshape(5, 4, 26)
    players = []
    for seat in (0, 1):
        x, y = (int(at) for at in np.argwhere(seen[:, :, seat] == 1)[0])
        facing = next(at for at in range(4) if seen[x, y, 2 + 4 * seat + at] == 1)
        players.append({"position": [x, y], "orientation": FACING[facing]})
    return {"players": players, "objects": {}, "order_list": ["onion"]}


def play(seed: int, steps: int = 100) -> list[dict]:
    """The rows of a trial: states, actions, rewards."""
    rng, world, rows = random.Random(seed), open_kitchen(), []
    plans: list[list[int]] = [[], []]
    for _ in range(steps):
        joint = []
        for seat, plan in enumerate((FETCH_ONION, BRING_SOUP)):
            if not plans[seat]:
                plans[seat] = list(plan)
            joint.append(STAY if rng.random() < 0.2 else plans[seat].pop(0))
        state, before = read_state(world), world.score()
        world.step(joint)
        reward = 5 if world.score() > before else 0
        rows.append({"state": state, "joint": [MOVES[own] for own in joint], "reward": reward})
    return rows


def main() -> None:
    """Writes both tables."""
    here = Path(__file__).parent
    with (here / "of_2019.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["cur_gameloop", "is_leader", "joint_action", "layout", "layout_name", "reward", "state", "run", "workerid_num"])
        for pair in range(3):
            for tick, row in enumerate(play(pair)):
                values = [tick, True, row["joint"], GRID, "cramped_room", row["reward"], row["state"], "run-1", pair]
                writer.writerow(values)
    with (here / "later.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(
            ["trial_id", "cur_gameloop", "joint_action", "layout_name", "reward", "state", "player_0_id", "player_1_id",
             "player_0_is_human", "player_1_is_human"]
        )
        for tick, row in enumerate(play(7, 30)):
            joint, state = json.dumps(row["joint"]), json.dumps(row["state"])
            writer.writerow([11, tick, joint, "cramped_room", row["reward"], state, "a", "ai", True, False])


if __name__ == "__main__":
    main()
