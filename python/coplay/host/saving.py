"""The state of an environment: copied, brought back, and told apart from other states.

A state is everything that the environment's own object reaches. An environment with `get_state` and `set_state` says by
itself what that is. Anything else that it depends on (a variable of a module, the generator of `random`, the time) is no
part of it, and an environment with such a state is refused for pages.
"""

from __future__ import annotations

import hashlib
import io
import pickle
import sys
import types
from typing import Any

PROTOCOL = 5
SUM = 8
"""Bytes of the sum before a state: what is no state of a page is refused before it is read."""

STATIC = (types.FunctionType, types.BuiltinFunctionType, types.MethodDescriptorType, types.ModuleType, type)
"""Things that no step changes and that a copy shares with the original."""


class Shared:
    """Things that copies share, such as functions without their own name, by number."""

    def __init__(self) -> None:
        self._things: list[Any] = []
        self._numbers: dict[int, int] = {}

    def number_of(self, thing: Any) -> int:
        """The number of a thing, which is the same on every page that made the environment alike."""
        known = self._numbers.get(id(thing))
        if known is None:
            known = self._numbers[id(thing)] = len(self._things)
            self._things.append(thing)
        return known

    def thing_of(self, number: int) -> Any:
        """The thing with a number."""
        return self._things[number]


class _Pickler(pickle.Pickler):
    """A pickler that leaves functions and modules where they are."""

    def __init__(self, out: io.BytesIO, shared: Shared, plain: bool) -> None:
        super().__init__(out, PROTOCOL)
        self._shared = shared
        # Without a memo, equal states have equal bytes, whichever of their equal parts are one object.
        self.fast = plain

    def reducer_override(self, thing: Any) -> Any:
        if isinstance(thing, STATIC):
            return NotImplemented if _is_importable(thing) else (_take_shared, (self._shared.number_of(thing),))
        if isinstance(thing, (set, frozenset)) and self.fast:
            return (type(thing), (sorted(thing, key=repr),))
        return NotImplemented


class _Unpickler(pickle.Unpickler):
    """An unpickler that imports nothing: an environment's own modules are there by the time a state comes."""

    def find_class(self, module: str, name: str) -> Any:
        if module not in sys.modules:
            raise pickle.UnpicklingError(f"the module {module} is not loaded")
        return super().find_class(module, name)


def _is_importable(thing: Any) -> bool:
    if isinstance(thing, types.ModuleType):
        return False
    found: Any = sys.modules.get(getattr(thing, "__module__", None) or "")
    for part in getattr(thing, "__qualname__", "").split("."):
        found = getattr(found, part, None)
    return found is thing


_open: Shared | None = None


def _take_shared(number: int) -> Any:
    assert _open is not None
    return _open.thing_of(number)


class Saver:
    """Copies of the state of one environment."""

    def __init__(self, adapter: Any) -> None:
        self._adapter, self._shared = adapter, Shared()
        env = getattr(adapter.env, "unwrapped", adapter.env)
        has_both = callable(getattr(env, "get_state", None)) and callable(getattr(env, "set_state", None))
        self._own = env if has_both else None
        self._cyclic = False

    def parts(self) -> dict[str, Any]:
        """The parts of the adapter that make the state; the environment by its own words if it has them."""
        parts = dict(self._adapter.__dict__)
        if self._own is not None:
            parts["env"] = self._own.get_state()
        return parts

    def copy(self, extra: Any) -> bytes:
        """The state and something beside it, as bytes from which they can be brought back."""
        return self._dump((self.parts(), extra), plain=False)

    def bring_back(self, copy: bytes) -> Any:
        """Puts the environment into a state, and gives back what was beside it."""
        global _open
        _open = self._shared
        parts, extra = _Unpickler(io.BytesIO(copy)).load()
        env = parts.pop("env")
        self._adapter.__dict__.update(parts)
        if self._own is None:
            self._adapter.env = env
        else:
            self._own.set_state(env)
        return extra

    def plain(self, extra: Any) -> bytes:
        """Bytes that are equal if and only if states are; nothing can be brought back from them."""
        if not self._cyclic:
            try:
                return self._dump((self.parts(), extra), plain=True)
            except (ValueError, RecursionError):
                self._cyclic = True
        return canonical_bytes((self.parts(), extra), self._shared)

    def _dump(self, thing: Any, plain: bool) -> bytes:
        out = io.BytesIO()
        _Pickler(out, self._shared, plain).dump(thing)
        return out.getvalue()


def seal(copy: bytes) -> bytes:
    """A copy with its sum."""
    return hashlib.sha256(copy).digest()[:SUM] + copy


def unseal(sealed: bytes) -> bytes | None:
    """The copy behind its sum; `None` if the sum is another."""
    copy = sealed[SUM:]
    return copy if hashlib.sha256(copy).digest()[:SUM] == sealed[:SUM] else None


class _Canonical(pickle._Pickler):
    """For states with circles: only what can change is known by its identity, never a number, a text or a tuple."""

    def __init__(self, out: io.BytesIO, shared: Shared) -> None:
        super().__init__(out, PROTOCOL)
        self._shared = shared

    def memoize(self, thing: Any) -> None:
        if not isinstance(thing, (str, bytes, int, float, tuple, frozenset)):
            super().memoize(thing)  # type: ignore[misc]

    def reducer_override(self, thing: Any) -> Any:
        if isinstance(thing, STATIC):
            return NotImplemented if _is_importable(thing) else (_take_shared, (self._shared.number_of(thing),))
        if isinstance(thing, (set, frozenset)):
            return (type(thing), (sorted(thing, key=repr),))
        return NotImplemented


def canonical_bytes(thing: Any, shared: Shared) -> bytes:
    """Bytes of a state with circles, by the slow pickler of the standard library."""
    out = io.BytesIO()
    _Canonical(out, shared).dump(thing)
    return out.getvalue()
