"""How far agents rely on each other: which events would be missing if somebody else had left out an action.

Source of the idea: arXiv 2502.06976, where an action relies on another agent if that agent's action brought about what it
needs. There the needs are written down for one game; here the environment itself is asked, so that it holds for all.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from coplay import _coplay
from coplay._vectors import COLLISIONS, Floats, Recording, Vectors
from coplay.spec import Spec

MOVES = ("move", "turn", "rotate", "forward")
"""The beginnings of the names of actions that change only the place of the acting agent."""

INSTANCES = 1024
"""Episodes that are played at the same time."""

Flags = NDArray[np.bool_]


def find_candidates(spec: Spec) -> Flags:
    """The actions, by index, that are left out one by one: all but the no-op and moves."""
    return np.array(
        [at != spec.noop and not name.startswith(MOVES) for at, name in enumerate(spec.actions)]
    )


def measure_interdependence(vectors: Vectors, recording: Recording, episodes: int) -> Floats | None:
    """`[episode, seat]`: the share of the events of a seat that rely on somebody else, in the first `episodes`.

    One action is left out at a time, and everything else is played again. The first event that is then missing relies on
    it. What is missing later may only come of everybody's keys being out of step, and does not count; nor are moves left
    out, as an agent that stops somewhere else afterwards is in the way, which shows nothing about help. `None` if the
    environment reports no events, has one seat, or has moves alone; a seat without events has the value 0.
    """
    spec = vectors.spec
    kinds = [not any(part in name for part in (*COLLISIONS, "step")) for name in spec.events]
    candidates = find_candidates(spec)
    count = min(episodes, len(recording.seeds))
    if count == 0 or spec.seats < 2 or not any(kinds) or not candidates.any():
        return None
    lengths = recording.lengths[:count]
    original = _Original(vectors, recording, count, kinds)
    running = np.arange(len(original.actions))[:, None] < lengths
    cases = np.argwhere(candidates[original.actions] & running[:, :, None])
    cases = cases[original.find_effective(cases)]
    relies = np.zeros_like(original.happened)
    for begin in range(0, len(cases), INSTANCES):
        original.mark_first_missing(cases[begin : begin + INSTANCES], relies)
    events = original.happened.sum(axis=(0, 3))
    return np.asarray(relies.sum(axis=(0, 3)) / np.maximum(events, 1), np.float64)


class _Original:
    """Episodes as they were played, with their states, from which they are continued with one action less."""

    def __init__(self, vectors: Vectors, recording: Recording, count: int, kinds: list[bool]) -> None:
        self.vectors, self.spec, self.kinds = vectors, vectors.spec, kinds
        self.lengths = recording.lengths[:count]
        self.actions = recording.actions[: self.lengths.max(), :count]
        vector = self._open(count)
        vector.reset(list(recording.seeds[:count]))
        events = vector.arrays["events"]
        self.states = [[vector.get_state(at) for at in range(count)]]
        shape = (*self.actions.shape, sum(kinds))
        self.happened: Flags = np.zeros(shape, np.bool_)
        """`[tick, episode, seat, kind]`: whether something happened."""
        for tick, joint in enumerate(self.actions):
            vector.step(np.ascontiguousarray(joint).ravel())
            self.happened[tick] = (events[:, :, kinds] != 0) & (tick < self.lengths)[:, None, None]
            self.states.append([vector.get_state(at) for at in range(count)])

    def _open(self, instances: int) -> _coplay.Vector:
        nobody = [None] * self.spec.seats
        return self.vectors.open(instances, nobody, compact=self.spec.compact)

    def find_effective(self, cases: NDArray[np.int64]) -> Flags:
        """Of actions `[tick, episode, seat]`, those without which the next state is another one."""
        vector = self._open(1)
        found = np.zeros(len(cases), np.bool_)
        for at, (tick, episode, seat) in enumerate(cases):
            joint = self.actions[tick, episode].copy()
            joint[seat] = self.spec.noop
            vector.set_state(0, self.states[tick][episode])
            vector.step(joint)
            found[at] = vector.get_state(0) != self.states[tick + 1][episode]
        return found

    def mark_first_missing(self, cases: NDArray[np.int64], relies: Flags) -> None:
        """Leaves out each of the actions `[tick, episode, seat]`, and marks what other seats miss first."""
        ticks, episodes, seats = cases.T
        each = np.arange(len(cases))
        vector = self._open(len(cases))
        vector.reset([0] * len(cases))
        for at, (tick, episode) in enumerate(zip(ticks, episodes, strict=True)):
            vector.set_state(at, self.states[tick][episode])
        events = vector.arrays["events"]
        closed = np.zeros(len(cases), np.bool_)
        for after in range(int((self.lengths[episodes] - ticks).max())):
            now = np.minimum(ticks + after, len(self.actions) - 1)
            joint = self.actions[now, episodes].copy()
            if after == 0:
                joint[each, seats] = self.spec.noop
            closed |= ticks + after >= self.lengths[episodes]
            if closed.all():
                return
            vector.step(joint.ravel())
            missing = self.happened[now, episodes] & (events[:, :, self.kinds] == 0) & ~closed[:, None, None]
            if after == 0:
                missing[each, seats] = False
            closed |= missing.any(axis=(1, 2))
            missing[each, seats] = False
            for case in np.flatnonzero(missing.any(axis=(1, 2))):
                relies[now[case], episodes[case]] |= missing[case]
