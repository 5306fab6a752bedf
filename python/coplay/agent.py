"""Models as partners: an ONNX file, and how its actions are chosen."""

from __future__ import annotations

import json
import os
from os import PathLike


class Agent(str):
    """An ONNX model that plays a seat, wherever the name of a partner can be.

    `temperature` draws each action by a softmax; without it the best is taken. With `every_ticks` the
    model acts every N steps. With `action_mask` it chooses only among actions that may have an effect.
    The file is read when an environment is opened with it.
    """

    __slots__ = ()

    def __new__(
        cls,
        path: str | PathLike[str],
        *,
        temperature: float | None = None,
        every_ticks: int = 1,
        action_mask: bool = False,
    ) -> Agent:
        """Names a model by its path."""
        order = {
            "model": os.fspath(path),
            "temperature": temperature,
            "every_ticks": every_ticks,
            "action_mask": action_mask,
        }
        return super().__new__(cls, json.dumps(order))

    @property
    def path(self) -> str:
        """The path of the model."""
        return str(json.loads(str(self))["model"])
