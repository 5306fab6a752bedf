"""One seat of an environment as a Gymnasium `Env`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any, TypeAlias

import gymnasium
import numpy as np
from numpy.typing import NDArray

from coplay import _coplay
from coplay._hosted import Hosted, action_index, is_whole

Observation: TypeAlias = NDArray[np.float32]
Partner: TypeAlias = str | Callable[[Observation], Any]
"""The player of another seat: the name of a partner, the path of a model (`*.onnx`) or an `Agent`, or a function from
observation to action."""


class Env(Hosted, gymnasium.Env[Observation, np.int64]):
    """One seat of an environment; partners play the others.

    Observations are flat `float32` arrays; `observation_fields` names their parts.
    `info` has `action_mask` (`int8`, 1 for each action that may have an effect), `acting` (whether the seat's next
    action counts), `events` (the sums of the values of the events that the seat caused in the step, by kind;
    `event_names` names them), `reward_components` (the reward in parts; `component_names` names them),
    `score` (what people see) and `seat_score` (what the person of the seat has made of it).
    """

    _kept = (
        "spec",
        "action_space",
        "observation_space",
        "_np_random",
        "_np_random_seed",
        "_started",
        "_seed",
    )

    def __init__(
        self,
        id: str | PathLike[str],
        *,
        render_mode: str | None = None,
        seat: int = 0,
        partners: Partner | Sequence[Partner] = "idle",
        **params: Any,
    ) -> None:
        """Opens an environment by its id, or the module of someone else by its path (`*.wasm`)."""
        self._open(id, params, render_mode)
        self._arguments = {
            "id": id,
            "render_mode": render_mode,
            "seat": seat,
            "partners": partners,
            **params,
        }
        spec = self.world_spec
        if not is_whole(seat) or not 0 <= seat < spec.seats:
            raise ValueError(
                f"seat: there is no seat {seat!r}; `{spec.id}` has seats 0 to {spec.seats - 1}; "
                "for all seats take `parallel_env` or `make_vec`"
            )
        self.seat = seat = int(seat)
        self._partners = {
            other: _coplay.Partner(who, self._world) if isinstance(who, str) else who
            for other, who in seated(partners, seat, spec.seats).items()
        }
        self.observation_space: gymnasium.Space[Any] = spec.observation_space()
        self.action_space = spec.action_space()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Starts an episode: that of a seed, or else the next of the stream that the last seed began."""
        super().reset(seed=seed)
        seed = self._begin(seed, self.np_random)
        for seat, partner in self._partners.items():
            if isinstance(partner, _coplay.Partner):
                partner.reset(seat, seed)
        self._show()
        return self._world.observe(self.seat), self._info(self._no_events())

    def step(
        self, action: np.int64 | int
    ) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Advances by one step."""
        self._check_running()
        actions = [self.world_spec.noop] * self.world_spec.seats
        actions[self.seat] = action_index(action)
        for seat, partner in self._partners.items():
            seen = self._world.observe(seat)
            if isinstance(partner, _coplay.Partner):
                mask = self._world.mask(seat) if partner.wants_mask else None
                actions[seat] = partner.act(seen, mask)
            else:
                actions[seat] = action_index(partner(seen))
        rewards, terminated, truncated, over, events = self._world.step(actions)
        self._show()
        bit = 1 << self.seat
        ended = bool(terminated & bit)
        return (
            self._world.observe(self.seat),
            rewards[self.seat],
            ended,
            bool(truncated & bit) or (over and not ended),
            self._info(events),
        )

    def _info(self, events: Observation) -> dict[str, Any]:
        return self._info_of(self.seat, events, self._world.components())

    def action_masks(self) -> NDArray[np.bool_]:
        """The action mask under the name that masking trainers ask for."""
        return self._world.mask(self.seat).astype(np.bool_)

    def get_state(self) -> bytes:
        """The episode on its way: the world, its partners, and the seeds to come."""
        states = [b""] * self.world_spec.seats
        for seat, partner in self._partners.items():
            if isinstance(partner, _coplay.Partner):
                states[seat] = partner.get_state()
        return self._world.get_state(states)

    def set_state(self, state: bytes) -> None:
        """Takes up what `get_state` gave, here or in any environment with the same parameters."""
        before = self.get_state()
        try:
            self._take_up(state)
        except ValueError:
            self._take_up(before)
            raise
        self._started = True

    def _take_up(self, state: bytes) -> None:
        states = self._world.set_state(state)
        for seat, partner in self._partners.items():
            if isinstance(partner, _coplay.Partner):
                partner.set_state(states[seat] if seat < len(states) else b"")


def seated(
    partners: Partner | Sequence[Partner], seat: int, seats: int
) -> dict[int, Partner]:
    """The players of the other seats: one for all of them, or one for each in order."""
    others = [other for other in range(seats) if other != seat]
    if isinstance(partners, str) or callable(partners):
        return dict.fromkeys(others, partners)
    each = list(partners) if isinstance(partners, Sequence) else [partners]
    for one in each:
        if not (isinstance(one, str) or callable(one)):
            raise ValueError(
                f"partners: {one!r} is no partner; give a name ({', '.join(_coplay.partners())}) "
                "or a function from observation to action, or a sequence with one for each other seat"
            )
    if len(each) != len(others):
        raise ValueError(
            f"partners: {len(each)} are given for {len(others)} other seats; "
            "give one for each, or a single one for all"
        )
    return dict(zip(others, each, strict=True))
