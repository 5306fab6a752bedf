"""Spaces of Gymnasium, PettingZoo and Gymnax as lists: actions by number, observations as one row of numbers.

The classes are known by their names, so none of the packages is needed here; NumPy is used where it is.
"""

from __future__ import annotations

import hashlib
import itertools
import math
import sys
from array import array
from typing import Any

from .serve import Refusal

try:
    import numpy
except ImportError:
    np: Any = None
else:
    np = numpy

MOST_ACTIONS = 1024
"""The most actions that a space may be flattened to."""


def kind_of(space: Any) -> str:
    """The name of the space's class, or of the first known one that it derives from."""
    known = ("Discrete", "MultiDiscrete", "MultiBinary", "Box", "Dict", "Tuple", "Text", "Sequence", "Graph")
    return next((cls.__name__ for cls in type(space).__mro__ if cls.__name__ in known), type(space).__name__)


def list_actions(space: Any, named: dict[str, Any] | None) -> list[tuple[str | None, Any]]:
    """The actions of a space in order, each with a name where it has one.

    `named` gives actions by name instead: for continuous spaces, of which people can choose only some values.
    """
    if named:
        return [(name, _as_action(value, space)) for name, value in named.items()]
    kind = kind_of(space)
    if kind == "Discrete":
        start = int(getattr(space, "start", 0))
        return [(None, start + action) for action in range(int(space.n))]
    if kind in ("MultiDiscrete", "MultiBinary"):
        shape = [2] * int(_product(space.shape)) if kind == "MultiBinary" else [int(n) for n in _flat(space.nvec)]
        if _product(shape) > MOST_ACTIONS:
            raise Refusal(
                f"the action space {space} has {_product(shape)} combinations, and at most {MOST_ACTIONS} can be "
                "flattened: name those that people need under `actions:` in the study file"
            )
        rows = itertools.product(*(range(n) for n in shape))
        return [("_".join(map(str, row)), _as_action(list(row), space)) for row in rows]
    raise Refusal(
        f"people choose one action of a list, and the action space is {space}: "
        "name some of its actions in the study file, such as `actions: {stay: [0.0], left: [-1.0], right: [1.0]}`"
    )


def _as_action(value: Any, space: Any) -> Any:
    if isinstance(value, list) and np is not None and hasattr(space, "dtype"):
        return np.asarray(value, dtype=space.dtype).reshape(getattr(space, "shape", None) or (len(value),))
    return value


class Observation:
    """How the observation of a seat becomes one row of numbers."""

    def __init__(self, space: Any, example: Any) -> None:
        self.fields: list[dict[str, Any]] = []
        self.left_out: list[str] = []
        self._paths: list[tuple[Any, ...]] = []
        self._sizes: list[int] = []
        self._walk(space, example, ())

    def _walk(self, space: Any, example: Any, path: tuple[Any, ...]) -> None:
        kind = kind_of(space) if space is not None else ""
        inner = getattr(space, "spaces", None)
        if kind in ("Dict", "Tuple") and inner is not None:
            keys = list(inner) if kind == "Dict" else range(len(inner))
            for key in keys:
                self._walk(inner[key], _get(example, key), (*path, key))
        elif isinstance(example, dict):
            for key in example:
                self._walk(None, example[key], (*path, key))
        else:
            self._add(space, kind, example, path)

    def _add(self, space: Any, kind: str, example: Any, path: tuple[Any, ...]) -> None:
        name = ".".join(map(str, path)) or "observation"
        if path and path[-1] == "action_mask":
            return
        try:
            shape = [int(n) for n in np.shape(example)] if np is not None else _shape(example)
            as_floats(example)
        except (TypeError, ValueError):
            self.left_out.append(name)
            return
        field: dict[str, Any] = {"name": name, "shape": shape}
        if (bounds := _range(space, kind)) is not None:
            field["range"] = bounds
        self.fields.append(field)
        self._paths.append(path)
        self._sizes.append(_product(shape))

    def leaves(self, observation: Any) -> list[Any]:
        """The values of the fields, in order."""
        values = []
        for path in self._paths:
            value = observation
            for key in path:
                value = _get(value, key)
            values.append(value)
        return values

    def floats(self, observation: Any) -> bytes:
        """The row of numbers: little-endian `f32`, field by field; zeros for a seat without an observation."""
        if observation is None:
            return bytes(4 * sum(self._sizes))
        parts = [as_floats(value) for value in self.leaves(observation)]
        for part, size, field in zip(parts, self._sizes, self.fields, strict=True):
            if len(part) != 4 * size:
                raise Refusal(
                    f"the field `{field['name']}` of the observation had {size} values at first, "
                    f"and now has {len(part) // 4}: its shape may not change"
                )
        return b"".join(parts)

    def hash(self, observation: Any) -> int:
        """The first eight bytes of the SHA-256 of the values as the environment holds them, little-endian."""
        digest = hashlib.sha256()
        if observation is not None:
            for value in self.leaves(observation):
                digest.update(_raw(value))
        return int.from_bytes(digest.digest()[:8], "little")


def as_floats(value: Any) -> bytes:
    """Numbers of any form as little-endian `f32`."""
    if np is not None:
        return bytes(np.asarray(value, dtype="<f4").tobytes())
    row = array("f", _flat(value))
    if sys.byteorder == "big":
        row.byteswap()
    return row.tobytes()


def _raw(value: Any) -> Any:
    if np is None:
        return array("d", _flat(value)).tobytes()
    row = np.asarray(value)
    return row.tobytes() if row.dtype != object else repr(value).encode()


def _get(value: Any, key: Any) -> Any:
    if isinstance(value, dict) or not isinstance(key, str):
        return value[key]
    return getattr(value, key)


def _range(space: Any, kind: str) -> list[float] | None:
    if kind == "Box":
        low, high = min(map(float, _flat(space.low))), max(map(float, _flat(space.high)))
        return [low, high] if math.isfinite(low) and math.isfinite(high) else None
    if kind == "Discrete":
        start = int(getattr(space, "start", 0))
        return [float(start), float(start + int(space.n) - 1)]
    return [0.0, 1.0] if kind == "MultiBinary" else None


def _flat(value: Any) -> list[Any]:
    if np is not None:
        return list(np.asarray(value).reshape(-1).tolist())
    if isinstance(value, (list, tuple)):
        return [inner for item in value for inner in _flat(item)]
    return [value]


def _shape(value: Any) -> list[int]:
    return [len(value), *_shape(value[0])] if isinstance(value, (list, tuple)) and value else []


def _product(shape: Any) -> int:
    return math.prod(int(n) for n in (shape if hasattr(shape, "__iter__") else [shape]))
