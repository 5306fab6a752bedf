"""Collisions in episodes of an environment that reports none, from its descriptions before and after each step.

A collision is a move onto floor that failed because of another agent, and counts for the agent whose move failed: two who
want the same cell, who want to swap, or one who walks into somebody.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

from coplay import _coplay
from coplay._vectors import Floats, Recording, Vectors
from coplay.spec import Spec

OWN = re.compile(
    r"^You\b[^.]*?\bat row (\d+), column (\d+), facing (?:the )?(\w+) towards (.+?), holding ", re.MULTILINE
)
"""An agent's own place in the description of what it sees, and what is in front of it."""

AHEAD = {
    "up": (-1, 0),
    "down": (1, 0),
    "left": (0, -1),
    "right": (0, 1),
    "north": (-1, 0),
    "south": (1, 0),
    "west": (0, -1),
    "east": (0, 1),
}
"""Rows and columns to the next cell, by direction."""

FREE = "free floor"
"""The description of a cell on which an agent could stand."""


class Stand(NamedTuple):
    """An agent's place, and what it faces."""

    cell: tuple[int, int]
    ahead: tuple[int, int]
    faces: str


def read_stand(description: str) -> Stand | None:
    """An agent's own place in a description; `None` if it has none."""
    found = OWN.search(description)
    if found is None or found[3] not in AHEAD:
        return None
    row, column = int(found[1]), int(found[2])
    down, right = AHEAD[found[3]]
    return Stand((row, column), (row + down, column + right), found[4])


def find_collided(before: list[Stand], after: list[Stand], moves: list[bool]) -> list[bool]:
    """Tells for each agent if its move failed because of another one, from their places before and after the step.

    An agent that moved and did not leave its cell faces what it walked into. If nobody stands there and it is free floor,
    somebody else wanted it too.
    """
    cells = [stand.cell for stand in after]
    return [
        moved and own.cell == now.cell and (now.faces == FREE or now.ahead in cells)
        for own, now, moved in zip(before, after, moves, strict=True)
    ]


def find_moves(spec: Spec) -> list[bool]:
    """The actions, by index, that take an agent to the next cell."""
    return [name.startswith(("move", "forward")) for name in spec.actions]


def count_collisions(vectors: Vectors, recording: Recording) -> Floats | None:
    """The collisions of each episode, all agents together.

    `None` if no action moves an agent, or if the environment does not describe where its agents stand.
    """
    spec = vectors.spec
    kinds = find_moves(spec)
    world = _coplay.World(vectors.source, vectors.params)
    seats = range(spec.seats)
    world.reset(recording.seeds[0])
    if not any(kinds) or any(read_stand(world.describe(seat)) is None for seat in seats):
        return None
    counts = np.zeros(len(recording.seeds))
    for episode, seed in enumerate(recording.seeds):
        world.reset(seed)
        before: list[Stand] | None = None
        for joint in recording.actions[: recording.lengths[episode], episode].tolist():
            acting = world.acting()
            moves = [kinds[action] and acting >> seat & 1 == 1 for seat, action in enumerate(joint)]
            if not any(moves):
                world.step(joint)
                before = None
                continue
            before = before or _read_all(world, spec)
            world.step(joint)
            after = _read_all(world, spec)
            if before is None or after is None:
                return None
            counts[episode] += sum(find_collided(before, after, moves))
            before = after
    return counts


def _read_all(world: _coplay.World, spec: Spec) -> list[Stand] | None:
    stands = [read_stand(world.describe(seat)) for seat in range(spec.seats)]
    known = [stand for stand in stands if stand is not None]
    return known if len(known) == len(stands) else None
