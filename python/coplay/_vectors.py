"""Vectors of one environment with one set of parameters, and episodes that are played in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coplay import _coplay
from coplay.spec import Spec

Floats = NDArray[np.float64]
Actions = NDArray[np.int64]

COLLISIONS = ("collision", "collided", "blocked")
"""Names of events that count as collisions, or that these are a part of."""


@dataclass(frozen=True)
class Vectors:
    """Opens vectors of an environment, all with the same parameters."""

    source: str
    """The id of the environment, or the path of its module."""
    params: str
    """The parameters, as JSON."""
    threads: int = 0
    """Threads of a vector; 0 lets it choose."""

    @property
    def spec(self) -> Spec:
        """The properties of the environment with these parameters."""
        return Spec.from_json(_coplay.World(self.source, self.params).spec())

    def open(
        self, instances: int, partners: Sequence[str | None], *, compact: bool = False
    ) -> _coplay.Vector:
        """A vector; `partners` has the name of who plays each seat, or `None` where the caller plays."""
        return _coplay.Vector(
            self.source,
            self.params,
            instances,
            threads=self.threads,
            autoreset="disabled",
            compact=compact,
            partners=list(partners),
        )


@dataclass(frozen=True)
class Recording:
    """The results of some episodes. Arrays have one row for each episode."""

    seeds: list[int]
    actions: Actions
    """`[tick, episode, seat]`, the no-op after the end of an episode."""
    lengths: NDArray[np.int64]
    """The number of ticks."""
    returns: Floats
    """`[episode, seat]`: the sum of the rewards."""
    collisions: Floats | None
    """The number of collisions, if the environment reports them."""


def play(
    vectors: Vectors, partners: Sequence[str], seeds: Sequence[int], ticks: int | None = None
) -> Recording:
    """Lets partners play an episode of each seed, for `ticks` ticks at most."""
    vector = vectors.open(len(seeds), partners)
    return _follow(vector, vectors.spec, list(seeds), None, None, ticks)


def replay(
    vectors: Vectors, seeds: Sequence[int], actions: Sequence[Actions]
) -> Recording:
    """Plays recorded actions again, `[tick, seat]` for each episode."""
    spec = vectors.spec
    lengths = np.array([len(own) for own in actions])
    joint = np.full((max(lengths), len(seeds), spec.seats), spec.noop, np.int64)
    for at, own in enumerate(actions):
        joint[: len(own), at] = own
    vector = vectors.open(len(seeds), [None] * spec.seats)
    return _follow(vector, spec, list(seeds), joint, lengths, None)


def _follow(
    vector: _coplay.Vector,
    spec: Spec,
    seeds: list[int],
    recorded: Actions | None,
    limits: NDArray[np.int64] | None,
    ticks: int | None,
) -> Recording:
    """Steps a vector until every episode is over, and adds up what happens."""
    arrays, count = vector.arrays, len(seeds)
    vector.reset(list(seeds))
    kinds = [any(part in name for part in COLLISIONS) for name in spec.events]
    hits, returns = np.zeros(count), np.zeros((count, spec.seats))
    lengths, running = np.zeros(count, np.int64), np.ones(count, np.bool_)
    played: list[Actions] = []
    while running.any():
        tick = len(played)
        given = np.zeros(0, np.int64) if recorded is None else recorded[tick].ravel()
        vector.step(given)
        actions = vector.actions().astype(np.int64)
        played.append(np.where(running[:, None], actions, spec.noop))
        if any(kinds):
            hits += running * arrays["events"][:, :, kinds].sum(axis=(1, 2))
        returns[running] = arrays["episode_return"][running]
        lengths += running
        running &= ~(arrays["terminated"] | arrays["truncated"]).astype(np.bool_).all(axis=1)
        if limits is not None:
            running &= lengths < limits
        if ticks is not None and len(played) >= ticks:
            break
    return Recording(
        seeds=seeds,
        actions=np.stack(played),
        lengths=lengths,
        returns=returns,
        collisions=hits if any(kinds) else None,
    )
