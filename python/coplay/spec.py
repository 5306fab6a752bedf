"""The properties of an environment with its parameters, as plain data."""

from __future__ import annotations

import errno
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from coplay import _coplay


@dataclass(frozen=True)
class Field:
    """One field of an observation."""

    name: str
    """Name of the feature."""
    shape: tuple[int, ...]
    """Shape of the field, row-major."""
    start: int
    """Where it begins in the flat observation."""
    range: tuple[float, float] | None = None
    """The least and the greatest value, where the environment states them."""

    @property
    def slice(self) -> slice:
        """Its place in the flat observation."""
        return slice(self.start, self.start + math.prod(self.shape))

    def of(self, observation: NDArray[Any]) -> NDArray[Any]:
        """Views the field in an observation, or in an array of them along the last axis."""
        return observation[..., self.slice].reshape(*observation.shape[:-1], *self.shape)


@dataclass(frozen=True)
class Spec:
    """The properties of an environment with its parameters."""

    id: str
    """Environment id, such as `overcooked`."""
    version: str
    """Semantic version; changes whenever the same actions would play differently."""
    title: str
    """The name that people read."""
    seats: int
    """Number of seats."""
    actions: tuple[str, ...]
    """Names of the actions, by index."""
    noop: int
    """The action that does nothing."""
    observation: tuple[Field, ...]
    """The fields of an observation, in order."""
    tick_hz: int
    """Steps per second when people play; 0 for a turn-based environment."""
    horizon: int
    """Steps after which an episode is truncated."""
    events: tuple[str, ...]
    """Names of the event kinds, by index."""
    compact: bool
    """True if a byte holds each value of an observation."""
    seat_actions: tuple[tuple[int, ...], ...] = ()
    """The actions that each seat has, if they differ; an action that a seat does not have is the no-op."""
    directives: tuple[int, ...] = ()
    """The actions that the environment carries out over several steps."""
    reward_range: tuple[float, float] | None = None
    """The least and the greatest reward of a seat in one step, where the environment states them."""
    components: tuple[str, ...] = ()
    """Names of the parts whose sum is a reward."""
    perfect_information: bool = True
    """True if every seat sees the whole state."""
    secret: bool = False
    """True if the state holds something that no page of a player may know."""
    pointer: bool = False
    """True if a point on the picture may mean an action."""

    @classmethod
    def from_json(cls, text: str) -> Spec:
        """Reads what the native half says."""
        facts = json.loads(text)
        fields: list[Field] = []
        start = 0
        for field in facts["observation"]:
            shape = tuple(field["shape"])
            fields.append(Field(field["name"], shape, start, pair(field["range"])))
            start += math.prod(shape)
        return cls(
            id=facts["id"],
            version=facts["version"],
            title=facts["title"],
            seats=facts["seats"],
            actions=tuple(action["name"] for action in facts["actions"]),
            noop=facts["noop"],
            observation=tuple(fields),
            tick_hz=facts["tick_hz"],
            horizon=facts["horizon"],
            events=tuple(facts["events"]),
            compact=facts["compact"],
            seat_actions=tuple(tuple(own) for own in facts["seat_actions"]),
            directives=tuple(at for at, action in enumerate(facts["actions"]) if action["directive"]),
            reward_range=pair(facts["reward_range"]),
            components=tuple(facts["components"]),
            perfect_information=facts["perfect_information"],
            secret=facts["secret"],
            pointer=facts["pointer"],
        )

    @property
    def observation_len(self) -> int:
        """Number of values in the observation of a seat."""
        return sum(math.prod(field.shape) for field in self.observation)

    def observation_space(self, *, compact: bool = False) -> gymnasium.spaces.Box:
        """The space of the observation of a seat: flat, `float32`, or `int8` where compact."""
        dtype: Any = np.int8 if compact else np.float32
        widest = (-128.0, 127.0) if self.compact else (-np.inf, np.inf)
        low: NDArray[Any] = np.full(self.observation_len, widest[0], dtype)
        high: NDArray[Any] = np.full(self.observation_len, widest[1], dtype)
        for field in self.observation:
            if field.range is not None:
                low[field.slice], high[field.slice] = field.range
        return gymnasium.spaces.Box(low, high, dtype=dtype)

    def action_space(self) -> gymnasium.spaces.Discrete:
        """The space of the action of a seat."""
        return gymnasium.spaces.Discrete(len(self.actions))


def pair(values: list[float] | None) -> tuple[float, float] | None:
    """A range as a pair."""
    return None if values is None else (values[0], values[1])


def environments() -> list[str]:
    """Ids of the environments that come with the package."""
    return _coplay.environments()


def partners() -> list[str]:
    """Names of the partners that come with the package."""
    return _coplay.partners()


def params_schema(id: str) -> dict[str, Any]:
    """JSON Schema of the parameters of an environment: their names, defaults and limits."""
    schema: dict[str, Any] = json.loads(_coplay.params_schema(id))
    return schema


def source(id: str | PathLike[str]) -> str:
    """The id of an environment, or the path of a module, as text."""
    if not isinstance(id, str | PathLike):
        raise ValueError(
            f"id: {id!r} is neither the id of an environment nor the path of a module (`*.wasm`)"
        )
    path = fspath(id)
    if path.endswith(".wasm") and not Path(path).exists():
        raise FileNotFoundError(errno.ENOENT, "there is no such module", path)
    return path


def params_json(params: Mapping[str, Any]) -> str:
    """Parameters as JSON, NumPy's numbers and arrays included."""

    def plain(value: object) -> object:
        if isinstance(value, np.generic | np.ndarray):
            return value.tolist()
        raise ValueError(f"params: {value!r} is no JSON value; give text, numbers, lists or dicts")

    return json.dumps(params, default=plain)
