"""The check whether an environment could also run in participants' pages: pure Python, and a state that can be copied."""

from __future__ import annotations

import copy
import os
import random
import sys
import sysconfig
from typing import Any

from .spaces import np

PAGE_PACKAGES = ("coplay", "numpy")
"""Compiled packages that a page has or does not need."""


def check_page(world: Any, steps: int, seed: int) -> dict[str, Any]:
    """Says for the way `page` whether the environment's own code allows it, and why not."""
    compiled = _compiled_modules()
    if compiled:
        names = ", ".join(compiled[:5])
        return {"ok": False, "why": f"it loads compiled packages that no page has: {names}"}
    try:
        parted = _copies_part(world, steps, seed)
    except Exception as error:
        return {"ok": False, "why": f"its state cannot be copied: {type(error).__name__}: {error}"}
    if parted:
        return {"ok": False, "why": parted}
    return {"ok": True, "why": "pure Python, and two copies of its state play on alike"}


def _compiled_modules() -> list[str]:
    """Packages with machine code that are loaded, beside Python's own and those of a page."""
    own = [os.path.realpath(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib")]
    found = set()
    for name, module in list(sys.modules.items()):
        path = os.path.realpath(getattr(module, "__file__", None) or "")
        package = name.partition(".")[0]
        if not path.endswith((".so", ".pyd", ".dylib")) or package in PAGE_PACKAGES:
            continue
        inside = any(path.startswith(folder + os.sep) for folder in own)
        if not inside or "site-packages" in path or "dist-packages" in path:
            found.add(package)
    return sorted(found)


class _Saved:
    """A state of an environment: by its own `get_state` and `set_state`, otherwise as a copy of it."""

    def __init__(self, world: Any) -> None:
        self._world = world
        env = world.adapter.env
        self._own = getattr(env, "get_state", None) if hasattr(env, "set_state") else None
        self._state = copy.deepcopy(self._own()) if self._own else copy.deepcopy(world.adapter.__dict__)
        self._rest = copy.deepcopy(world.counts())

    def load(self) -> None:
        if self._own:
            self._world.adapter.env.set_state(copy.deepcopy(self._state))
        else:
            self._world.adapter.__dict__.update(copy.deepcopy(self._state))
        self._world.set_counts(copy.deepcopy(self._rest))


def _copies_part(world: Any, steps: int, seed: int) -> str | None:
    """Where two copies of one state part when they play the same actions; `None` if they never do.

    Between the two, the generators of the modules `random` and `numpy.random` are seeded differently:
    an environment that uses them has a state outside of itself.
    """
    chosen = random.Random(seed)
    world.reset(seed)
    count = len(world.facts()["spec"]["actions"])
    rows = [[chosen.randrange(count) for _ in range(world.seats)] for _ in range(2 * steps)]
    for row in rows[:steps]:
        if world.adapter.over:
            world.reset(seed + 1)
        world.step(row)
    if world.adapter.over:
        world.reset(seed + 1)
    saved = _Saved(world)
    first = _play(world, rows[steps:], 1)
    saved.load()
    second = _play(world, rows[steps:], 2)
    for at, (one, two) in enumerate(zip(first, second, strict=False)):
        if one != two:
            return (
                f"two copies of one state part after {at + 1} steps with equal actions: it keeps something outside of "
                "itself, such as a variable of its module, the generator of `random`, or the time"
            )
    return None


def _play(world: Any, rows: list[list[int]], seed: int) -> list[bytes]:
    random.seed(seed)
    if np is not None:
        np.random.seed(seed)
    told = []
    for row in rows:
        if world.adapter.over:
            break
        told.append(b"".join(world.step(row)))
    return told
