"""The loop of a host: requests in, answers out. It ends when the pipe from the program closes."""

from __future__ import annotations

import json
import os
import select
import signal
import struct
import sys
import threading
import traceback
from typing import Any, BinaryIO

VERSION = 1
"""Version of the protocol."""

HELLO, RESET, STEP, PICTURE, OBSERVE, DESCRIBE, POINT, CHOOSE, CHECK = range(1, 10)
READY, STEPPED, PIXELS, SHAPES, VALUES, TEXT, ACTION, CHECKED = range(0x81, 0x89)
NO_PICTURE = 0x8E
FAULT = 0x8F

NO_ACTION = 0xFFFF
"""The action that stands for none."""

HEADER = struct.Struct("<IB")


class Refusal(Exception):
    """Something that the study asks for and the environment cannot give; the text goes to the researcher."""


class Pipe:
    """Frames on two file descriptors: a length, a kind, a body."""

    def __init__(self, inward: BinaryIO, outward: int) -> None:
        self._inward = inward
        self._outward = outward

    def read(self) -> tuple[int, bytes] | None:
        """Reads the next frame; `None` at the end of the pipe."""
        header = self._inward.read(HEADER.size)
        if len(header) < HEADER.size:
            return None
        length, kind = HEADER.unpack(header)
        body = self._inward.read(length)
        return (kind, body) if len(body) == length else None

    def write(self, kind: int, *parts: Any) -> None:
        """Writes a frame whose body is the parts, one after the other."""
        views = [memoryview(part).cast("B") for part in parts if len(part)]
        header = HEADER.pack(sum(len(view) for view in views), kind)
        views.insert(0, memoryview(header))
        while views:
            written = os.writev(self._outward, views)
            while views and written >= len(views[0]):
                written -= len(views.pop(0))
            if views:
                views[0] = views[0][written:]


def main() -> None:
    """Serves the program until its pipe closes."""
    inward, outward = _take_pipes()
    _end_with_parent(inward)
    pipe = Pipe(os.fdopen(inward, "rb"), outward)
    server = _Server(pipe)
    while (frame := pipe.read()) is not None:
        server.handle(*frame)
    os._exit(0)


def _take_pipes() -> tuple[int, int]:
    """Keeps the two pipes for the protocol: what the environment prints goes to the error output."""
    inward, outward = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return inward, outward


def _end_with_parent(inward: int) -> None:
    """Ends the process, and what it started, once the program has closed its end of the pipe.

    The loop would find out only between two steps; an environment that hangs never gets there.
    """

    def watch() -> None:
        poll = select.poll()
        poll.register(inward, 0)
        poll.poll()
        if os.getpgrp() == os.getpid():
            os.killpg(0, signal.SIGKILL)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


class _Server:
    """Hands each request to the world, and its answer or its fault to the pipe."""

    def __init__(self, pipe: Pipe) -> None:
        self._pipe = pipe
        self._world: Any = None
        self._steps = {
            RESET: self._reset,
            STEP: self._step,
            PICTURE: self._picture,
            OBSERVE: self._observe,
            DESCRIBE: self._describe,
            POINT: self._point,
            CHOOSE: self._choose,
            CHECK: self._check,
        }

    def handle(self, kind: int, body: bytes) -> None:
        try:
            if kind == HELLO:
                self._hello(body)
            elif self._world is None:
                raise Refusal("the first request has to be a hello")
            elif kind in self._steps:
                self._steps[kind](body)
            else:
                raise Refusal(f"request {kind} is not one of version {VERSION}")
        except Refusal as refusal:
            self._fault("refused", str(refusal))
        except MemoryError:
            self._fault("memory", _traceback())
        except BaseException:
            self._fault("threw", _traceback())

    def _fault(self, kind: str, text: str) -> None:
        self._pipe.write(FAULT, json.dumps({"kind": kind, "text": text}).encode())

    def _hello(self, body: bytes) -> None:
        hello = json.loads(body)
        if hello["coplay_host"] != VERSION:
            raise Refusal(
                f"the program speaks version {hello['coplay_host']} of the protocol, this host version {VERSION}"
            )
        _limit_memory(hello.get("memory_bytes", 0))
        from .worlds import open_world

        self._world = open_world(hello["world"])
        facts = {"coplay_host": VERSION, **self._world.facts()}
        self._pipe.write(READY, json.dumps(facts).encode())

    def _reset(self, body: bytes) -> None:
        (seed,) = struct.unpack("<Q", body)
        self._pipe.write(STEPPED, *self._world.reset(seed))

    def _step(self, body: bytes) -> None:
        actions = struct.unpack(f"<{len(body) // 2}H", body)
        self._pipe.write(STEPPED, *self._world.step(actions))

    def _picture(self, body: bytes) -> None:
        picture = self._world.picture(body[0])
        if picture is None:
            self._pipe.write(NO_PICTURE)
        elif isinstance(picture, str):
            self._pipe.write(SHAPES, picture.encode())
        else:
            width, height, pixels = picture
            self._pipe.write(PIXELS, struct.pack("<II", width, height), pixels)

    def _observe(self, body: bytes) -> None:
        self._pipe.write(VALUES, self._world.observe(body[0]))

    def _describe(self, body: bytes) -> None:
        self._pipe.write(TEXT, self._world.describe(body[0]).encode())

    def _point(self, body: bytes) -> None:
        seat, x, y = struct.unpack("<Bff", body)
        action = self._world.point(seat, x, y)
        self._answer_action(action)

    def _choose(self, body: bytes) -> None:
        self._answer_action(self._world.choose(body[0]))

    def _answer_action(self, action: int | None) -> None:
        self._pipe.write(ACTION, struct.pack("<H", NO_ACTION if action is None else action))

    def _check(self, body: bytes) -> None:
        from .check import check_page

        self._pipe.write(CHECKED, json.dumps(check_page(self._world, **json.loads(body))).encode())


def _limit_memory(limit: int) -> None:
    """Limits the memory of this process, where the system can."""
    if not limit:
        return
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    except (ImportError, AttributeError, OSError, ValueError):
        print("this system cannot limit the memory of a host", file=sys.stderr)


def _traceback() -> str:
    """The traceback from the environment's own code on; of an error in this host, its last line alone."""
    kind, error, frames = sys.exc_info()
    place = ""
    while frames is not None:
        file = frames.tb_frame.f_code.co_filename
        is_own = os.path.dirname(file) == os.path.dirname(__file__)
        # The host imports a study's files by this part of Python.
        if not is_own and not file.startswith("<frozen importlib"):
            break
        place = f"(in {os.path.basename(file)} of Coplay's host, line {frames.tb_lineno})\n" if is_own else ""
        frames = frames.tb_next
    told = "".join(traceback.format_exception(kind, error, frames))
    return told + place if frames is None else told
