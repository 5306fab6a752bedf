"""An environment in Python as an environment module: the functions of `docs/environment-abi.md`, for a participant's page.

The page's own JavaScript calls them. Messages lie in two buffers of fixed places, `inbox` and `outbox`.
"""

from __future__ import annotations

import importlib.util
import json
import math
import struct
import sys
import types
from typing import Any

from .saving import Saver, seal, unseal
from .serve import Refusal
from .worlds import World, open_world

ABI = 2
LONGEST = 4 << 20
"""Bytes of the longest message."""

SLOTS = 64

inbox = bytearray(1 << 20)
outbox = bytearray(LONGEST)

EVENT = struct.Struct("<HBBf")
TAIL = struct.Struct("<HHII")
TAGS = {"sprite": 0, "rect": 1, "ellipse": 2, "progress": 3, "text": 4, "pixels": 5}
CELLS = 16.0
"""Width of a picture of pixels, cells."""


def _stand_in(name: str, **things: Any) -> None:
    """Stands in for a module that no page has, for packages that import it and use it elsewhere."""
    if importlib.util.find_spec(name) is None:
        module = sys.modules[name] = types.ModuleType(name)
        module.__dict__.update(things)


def _cannot(*_given: Any, **_named: Any) -> Any:
    raise OSError("a page has one process alone")


# Gymnasium's vector environments name these when the package is imported.
_stand_in("_multiprocessing", SemLock=type("SemLock", (), {"SEM_VALUE_MAX": 1, "__init__": _cannot}), sem_unlink=_cannot)
_stand_in("_posixshmem", shm_open=_cannot, shm_unlink=_cannot)


class PageWorld:
    """One environment in a page, and the states of it that are kept."""

    def __init__(self, config: dict[str, Any]) -> None:
        self._config = config
        self._world: World | None = None

    @property
    def world(self) -> World:
        """The open environment."""
        if self._world is None:
            raise Refusal("the environment is not open")
        return self._world

    def open(self, length: int) -> int:
        """Makes the environment with parameters, which are arguments of the function that makes it."""
        try:
            params = json.loads(inbox[:length].decode() or "{}")
            if not isinstance(params, dict):
                raise Refusal("params: they have to be a JSON object")
            config = dict(self._config)
            config["kwargs"] = {**(config.get("kwargs") or {}), **params}
            world = open_world(config)
        except Exception as error:
            name = "" if isinstance(error, Refusal) else f"{type(error).__name__}: "
            return -_give(f"params: {name}{error}".encode())
        self._world = world
        self._slots: list[bytes | None] = [None] * SLOTS
        self._facts = world.facts()
        self._saver = Saver(world.adapter)
        self._actions = struct.Struct(f"<{world.seats}H")
        self._rewards = struct.Struct(f"<{world.seats}f")
        self.reset(0)
        return 0

    def facts(self) -> int:
        """Gives the facts of the module."""
        told = {"spec": self._facts["spec"], "params_schema": {}, "sprites": self._facts["sprites"]}
        return _give(json.dumps(told, allow_nan=False).encode())

    def reset(self, seed: int) -> None:
        """Starts the episode of a seed."""
        self.world.begin_episode(seed & 0xFFFF_FFFF_FFFF_FFFF)

    def step(self, seats: int) -> int:
        """Steps with the actions in the inbox; 1 if the episode is over."""
        world, spec = self.world, self._facts["spec"]
        if world.adapter.over:
            nothing = bytes(len(world.pack_components()))
            _give(bytes(4 * min(seats, 16)) + TAIL.pack(0, 0, 1, 0) + nothing)
            return 1
        noop, count = spec["noop"], len(spec["actions"])
        given = struct.unpack_from(f"<{min(seats, 16)}H", inbox)
        row = [action if action < count else noop for action in given[: world.seats]]
        row += [noop] * (world.seats - len(row))
        events = world.play_step(row)
        adapter = world.adapter
        rewards = [*adapter.rewards, *[0.0] * 16][: min(seats, 16)]
        parts = [
            struct.pack(f"<{len(rewards)}f", *rewards),
            TAIL.pack(adapter.terminated & 0xFFFF, adapter.truncated & 0xFFFF, int(adapter.over), len(events)),
            *(EVENT.pack(kind, seat, 0 if to == 0xFF else to + 1, value) for kind, seat, to, value in events),
            world.pack_components(),
        ]
        _give(b"".join(parts))
        return int(adapter.over)

    def observe(self, seat: int) -> int:
        """Gives the observation of a seat."""
        return _give(self.world.observe(seat)) if seat < self.world.seats else 0

    def describe(self, seat: int) -> int:
        """Gives the state in words."""
        if seat >= self.world.seats:
            return 0
        words = self.world.describe(seat) or f"Step {self.world.steps}, score {self.world.score()}."
        return _give(words.encode())

    def draw(self, seat: int) -> int:
        """Gives the picture that a seat sees."""
        if seat >= self.world.seats:
            return 0
        picture = self.world.page_picture(seat)
        return _give(encode_picture(picture) if isinstance(picture, dict) else encode_raster(*picture))

    def point(self, seat: int) -> int:
        """The action that the point in the inbox means for a seat; -1 if it means nothing."""
        x, y = struct.unpack_from("<ff", inbox)
        action = self.world.point(seat, x, y) if seat < self.world.seats else None
        return -1 if action is None else action

    def save(self, slot: int) -> None:
        """Keeps the state in a slot."""
        if 0 <= slot < SLOTS:
            self._slots[slot] = self._saver.copy(self.world.counts())

    def load(self, slot: int) -> None:
        """Brings back the state of a slot."""
        copy = self._slots[slot] if 0 <= slot < SLOTS else None
        if copy is not None:
            self._bring_back(copy)

    def _bring_back(self, copy: bytes) -> None:
        self.world.set_counts(self._saver.bring_back(copy))

    def state(self) -> int:
        """Gives the state as bytes."""
        return _give(seal(self._saver.copy(self.world.counts())))

    def plain(self) -> int:
        """Gives the bytes of which the digest is made."""
        return _give(self._saver.plain(self.world.counts()))

    def restore(self, length: int) -> int:
        """Takes a state from the inbox; -1 if the bytes are none."""
        copy = unseal(bytes(inbox[:length]))
        if copy is None:
            return -1
        before = self._saver.copy(self.world.counts())
        try:
            self._bring_back(copy)
        except Exception:
            self._bring_back(before)
            return -1
        return 0

    def score(self) -> int:
        """The score of the group."""
        return self.world.score()

    def seat_score(self, seat: int) -> int:
        """The score of a seat."""
        return self.world.seat_score(seat) if seat < self.world.seats else 0

    def acting(self) -> int:
        """The seats whose actions count, a bit each."""
        world = self.world
        return (1 << world.seats) - 1 if world.adapter.over else world.adapter.acting()

    def mask(self, seat: int) -> int:
        """The actions that may have an effect, a bit each, as a signed number of 64 bits."""
        if seat >= self.world.seats:
            return 0
        bits = self.world.mask(seat)
        return bits - (1 << 64) if bits >> 63 else bits


def _give(message: bytes) -> int:
    length = len(message)
    if length > LONGEST:
        raise ValueError(f"a message of {length} bytes is longer than {LONGEST}")
    outbox[:length] = message
    return length


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def encode_raster(width: int, height: int, rgb: Any) -> bytes:
    """A picture of pixels as the postcard bytes of a draw list: 16 cells wide, like that of a host."""
    most = (LONGEST - 64) // 3
    if width * height > most or max(width, height) > 0xFFFF:
        raise Refusal(
            f"a picture of {width} × {height} pixels is too large for a page, which takes {most}: render a smaller one"
        )
    rows = CELLS * height / width
    head = struct.pack("<ff", CELLS, rows) + _varint(0x000000FF) + _varint(1)
    item = _varint(0) + struct.pack("<ffff", 0.0, 0.0, CELLS, rows) + _varint(TAGS["pixels"])
    return head + item + _varint(width) + _varint(height) + _varint(3 * width * height) + bytes(rgb)


def encode_picture(picture: dict[str, Any]) -> bytes:
    """A picture of shapes as the postcard bytes of a draw list."""
    items = picture["items"]
    out = bytearray(struct.pack("<ff", picture["width"], picture["height"]))
    out += _varint(picture["background"]) + _varint(len(items))
    for known, x, y, w, h, kind, *rest in items:
        if not all(map(math.isfinite, (x, y, w, h))):
            raise ValueError(f"a {kind} of the picture has a place that is no finite number")
        out += _varint(known) + struct.pack("<ffff", x, y, w, h) + _varint(TAGS[kind])
        if kind == "sprite":
            out += _varint(rest[0])
        elif kind in ("rect", "progress"):
            out += struct.pack("<f", rest[0]) + _varint(rest[1])
        elif kind == "ellipse":
            out += _varint(rest[0])
        else:
            text = rest[0].encode()
            out += _varint(len(text)) + text + _varint(rest[1])
    return bytes(out)
