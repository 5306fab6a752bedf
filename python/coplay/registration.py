"""How environments are made: by functions of this package, or through Gymnasium's registry."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Any, Literal

import gymnasium

from coplay.env import Env, Partner
from coplay.parallel import ParallelEnv
from coplay.spec import environments
from coplay.vector import VectorEnv


def make(
    id: str | PathLike[str],
    *,
    render_mode: str | None = None,
    seat: int = 0,
    partners: Partner | Sequence[Partner] = "idle",
    **params: Any,
) -> Env:
    """Makes one seat of an environment a Gymnasium `Env`; partners play the others."""
    return Env(id, render_mode=render_mode, seat=seat, partners=partners, **params)


def parallel_env(
    id: str | PathLike[str], *, render_mode: str | None = None, **params: Any
) -> ParallelEnv:
    """Makes all seats of an environment a PettingZoo `ParallelEnv`."""
    return ParallelEnv(id, render_mode=render_mode, **params)


def make_vec(
    id: str | PathLike[str],
    num_envs: int,
    *,
    seat: int | Literal["all"] = 0,
    partners: str | Sequence[str] = "idle",
    threads: int | None = None,
    autoreset: Literal["next_step", "same_step", "disabled"] = "next_step",
    observation: Literal["float32", "compact"] = "float32",
    copy: bool = False,
    render_mode: str | None = None,
    **params: Any,
) -> VectorEnv:
    """Makes many instances of an environment a Gymnasium `VectorEnv`; see `VectorEnv`."""
    return VectorEnv(
        id,
        num_envs,
        seat=seat,
        partners=partners,
        threads=threads,
        autoreset=autoreset,
        observation=observation,
        copy=copy,
        render_mode=render_mode,
        **params,
    )


def register_envs() -> None:
    """Registers every environment with Gymnasium, as `coplay/<id>`; importing the package does it."""
    for id in environments():
        if f"coplay/{id}" not in gymnasium.registry:
            gymnasium.register(
                f"coplay/{id}",
                entry_point="coplay.env:Env",
                vector_entry_point="coplay.vector:VectorEnv",
                kwargs={"id": id},
            )
