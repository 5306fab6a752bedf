"""The common part of `Env` and `ParallelEnv`: one world, its picture, its words."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from gymnasium.error import ResetNeeded
from numpy.typing import NDArray

from coplay import _coplay
from coplay._window import Window, check_render_mode
from coplay.spec import Field, Spec, params_json, source

RENDER_MODES = ["rgb_array", "human"]


class Event(NamedTuple):
    """Something that happened in a step."""

    kind: str
    """The kind, one of `event_names`."""
    seat: int
    """The seat that caused it."""
    to: int | None
    """The seat to which it happened, if there is one."""
    value: float
    """How much; the meaning belongs to the kind."""


class Hosted:
    """One world and what can be asked of it, whatever API steps it."""

    metadata: dict[str, Any] = {"render_modes": RENDER_MODES, "render_fps": 10}
    render_mode: str | None
    world_spec: Spec
    """The properties that the parameters fix."""
    _arguments: dict[str, Any]
    _kept: tuple[str, ...]
    """Names of what pickling keeps beside the state."""

    def _open(
        self, id: str | PathLike[str], params: Mapping[str, Any], render_mode: str | None
    ) -> None:
        check_render_mode(render_mode, RENDER_MODES)
        self._world = _coplay.World(source(id), params_json(params))
        self.world_spec = Spec.from_json(self._world.spec())
        self.render_mode = render_mode
        self.metadata = {
            **type(self).metadata,
            "name": self.world_spec.id,
            "render_fps": self.world_spec.tick_hz or 10,
        }
        self._window: Window | None = None
        self._started = False
        self._seed: int | None = None

    @property
    def observation_fields(self) -> tuple[Field, ...]:
        """The fields of an observation: names, shapes and slices."""
        return self.world_spec.observation

    @property
    def action_names(self) -> tuple[str, ...]:
        """Names of the actions, by index."""
        return self.world_spec.actions

    @property
    def event_names(self) -> tuple[str, ...]:
        """Names of the kinds of events, by index."""
        return self.world_spec.events

    @property
    def component_names(self) -> tuple[str, ...]:
        """Names of the parts of rewards, by index."""
        return self.world_spec.components

    @property
    def step_events(self) -> list[Event]:
        """The events of the last step, in order."""
        names = self.world_spec.events
        return [Event(names[kind], seat, to, value) for kind, seat, to, value in self._world.events]

    @property
    def acting(self) -> tuple[int, ...]:
        """The seats whose actions count in the next step; the action of another seat is the no-op."""
        bits = self._world.acting()
        return tuple(seat for seat in range(self.world_spec.seats) if bits >> seat & 1)

    def point(self, x: float, y: float, seat: int = 0) -> int | None:
        """The action that a point on a seat's picture means, in cells from its left upper corner."""
        return self._world.point(seat, x, y)

    @property
    def episode_seed(self) -> int | None:
        """The seed of this episode: `reset(seed=episode_seed)` plays it again, here, in Rust and in a browser."""
        return self._seed

    def describe(self, seat: int = 0) -> str:
        """The state in words, as seen from a seat: for language models and screen readers."""
        return self._world.describe(seat)

    def digest(self) -> int:
        """The digest of the state: equal on every machine if the states are equal."""
        return self._world.digest()

    @property
    def score(self) -> int:
        """The score that people see."""
        return self._world.score()

    def seat_score(self, seat: int = 0) -> int:
        """The score of a seat; the group's score if seats have no separate scores."""
        return self._world.seat_score(seat)

    def _begin(self, seed: int | None, random: np.random.Generator) -> int:
        """Starts an episode: the seed's own, the stream's next, or at first one drawn from `random`."""
        if seed is None and not self._started:
            seed = int(random.integers(2**64, dtype=np.uint64))
        self._seed = self._world.reset(checked_seed(seed))
        self._started = True
        return self._seed

    def _no_events(self) -> NDArray[np.float32]:
        return np.zeros((self.world_spec.seats, len(self.world_spec.events)), np.float32)

    def _check_running(self) -> None:
        if not self._started:
            raise ResetNeeded("call reset() before the first step()")
        if self._world.over:
            raise ResetNeeded("the episode is over: call reset() before the next step()")

    def render(self) -> Any:
        """The picture of the state: an array `[row, column, 3]` of `uint8`, or a window on the screen."""
        if self.render_mode == "rgb_array":
            return self.pixels()
        if self.render_mode == "human":
            self._show()
        elif self.render_mode is None:
            gymnasium.logger.warn(
                "render() was called without a render_mode; "
                'give one when the environment is made: render_mode="rgb_array"'
            )
        return None

    def pixels(self, scale: int = 48, seat: int | None = None) -> NDArray[np.uint8]:
        """The picture of the state, `[row, column, 3]`, at `scale` pixels a cell: all of it, or as a seat sees it."""
        return self._world.pixels(scale, seat)

    def svg(self, seat: int | None = None) -> str:
        """The picture of the state as an SVG document: all of it, or as a seat sees it."""
        return self._world.svg(seat)

    def _info_of(self, seat: int, events: NDArray[np.float32], components: NDArray[np.float32]) -> dict[str, Any]:
        return {
            "action_mask": self._world.mask(seat),
            "acting": bool(self._world.acting() >> seat & 1),
            "events": events[seat],
            "reward_components": components[seat],
            "score": self._world.score(),
            "seat_score": self._world.seat_score(seat),
        }

    def _show(self) -> None:
        if self.render_mode == "human":
            if self._window is None:
                self._window = Window(self.world_spec.title, self.metadata["render_fps"])
            self._window.show(self.pixels())

    def get_state(self) -> bytes:
        """The episode on its way."""
        raise NotImplementedError

    def _take_up(self, state: bytes) -> None:
        raise NotImplementedError

    def __getstate__(self) -> dict[str, Any]:
        """The state for pickling and copying; a window stays behind."""
        kept = {name: getattr(self, name) for name in self._kept}
        return {"arguments": self._arguments, "state": self.get_state(), "kept": kept}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Opens the environment anew and takes up its state."""
        self.__init__(**state["arguments"])  # type: ignore[misc]
        self._take_up(state["state"])
        self.__dict__.update(state["kept"])

    def close(self) -> None:
        """Closes the window, if there is one."""
        if self._window is not None:
            self._window.close()
            self._window = None


def checked_seed(seed: int | None) -> int | None:
    """Refuses a seed that is no `u64`."""
    if seed is not None and not 0 <= seed < 2**64:
        raise ValueError(f"seed: must be 0 to 2**64 - 1, not {seed}")
    return seed


def is_whole(value: object) -> bool:
    """Returns whether a value is a whole number, NumPy's included, and no truth value."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def action_index(action: Any) -> int:
    """An action as a plain number."""
    try:
        return int(action.__index__())
    except (AttributeError, TypeError):
        raise ValueError(
            f"actions: {action!r} is no action; give its index, a whole number"
        ) from None
