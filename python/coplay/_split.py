"""Which people a clone learns from, and which it is tried on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from coplay._played import Played


@dataclass(frozen=True)
class Split:
    """People by what they are for; nobody is in two of these but `watched`, who are among `learned`."""

    learned: frozenset[str]
    """People that the clone learns from."""
    watched: frozenset[str]
    """Those of them who say when to stop; empty if there are too few."""
    held_out: frozenset[str]
    """People that it has never seen."""
    by_group: bool
    """True if everybody who played together is on the same side."""


def split_people(played: Sequence[Played], share: float, rng: np.random.Generator) -> Split:
    """Holds out a share of the people, but at least one.

    Who played together, also over several episodes, stays together. If that is everybody, single people are held out, and
    `by_group` is false. Raises `ValueError` if fewer than two people played, or for a share that leaves nobody.
    """
    if not 0 < share < 1:
        raise ValueError(f"held_out: must be more than 0 and less than 1, not {share}")
    groups = _find_groups(played)
    people = sum(len(group) for group in groups)
    if people < 2:
        raise ValueError(
            f"{people} person played these episodes; a clone is tried on people from whom it did not learn, "
            "so at least two are needed"
        )
    by_group = len(groups) > 1
    if not by_group:
        groups = [[person] for person in groups[0]]
    order = [groups[at] for at in rng.permutation(len(groups))]
    held_out = _take(order, share * people)
    left = [group for group in order if not set(group) & held_out]
    watched = _take(left, 0.15 * people) if len(left) > 2 and by_group else set()
    learned = {person for group in left for person in group}
    return Split(frozenset(learned), frozenset(watched), frozenset(held_out), by_group)


def _take(groups: Sequence[list[str]], wanted: float) -> set[str]:
    """The first groups until there are enough people; never all groups."""
    found = set(groups[0])
    for group in groups[1:-1]:
        if len(found) >= wanted:
            break
        found |= set(group)
    return found


def _find_groups(played: Sequence[Played]) -> list[list[str]]:
    """People, with everybody who played with them, or with somebody who did, in order."""
    group_of: dict[str, list[str]] = {}
    for it in played:
        for seat, person in enumerate(it.participants):
            if person is None or not it.is_human[:, seat].any():
                continue
            own = group_of.setdefault(person, [person])
            first = group_of[next(p for at, p in enumerate(it.participants) if p in group_of and it.is_human[:, at].any())]
            if own is not first:
                first += own
                group_of |= {other: first for other in own}
    unique = {id(group): sorted(group) for group in group_of.values()}
    return sorted(unique.values())
