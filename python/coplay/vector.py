"""Thousands of instances of an environment as a Gymnasium `VectorEnv`."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Any, Literal

import gymnasium
import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from coplay import _coplay
from coplay._hosted import checked_seed, is_whole
from coplay._window import check_render_mode
from coplay.env import seated
from coplay.spec import Field, Spec, params_json, source

Array = NDArray[Any]

AUTORESET = {
    "next_step": AutoresetMode.NEXT_STEP,
    "same_step": AutoresetMode.SAME_STEP,
    "disabled": AutoresetMode.DISABLED,
}


class VectorEnv(gymnasium.vector.VectorEnv[Array, Array, Array]):
    """Many instances, stepped together, in which the caller plays one seat or all of them.

    With `seat="all"`, each seat of each instance is a separate sub-environment:
    `num_envs` is `instances * seats`, and number `i` is seat `i % seats` of instance `i // seats`.

    The arrays that `reset` and `step` return are views of the memory that the next call writes;
    `copy=True` gives separate arrays. Observations are read-only, because a step writes only
    what may have changed of them.
    """

    def __init__(
        self,
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
    ) -> None:
        """Opens `num_envs` instances by the id of an environment, or by the path of a module (`*.wasm`)."""
        self._arguments: dict[str, Any] = {
            "id": id,
            "num_envs": num_envs,
            "seat": seat,
            "partners": partners,
            "threads": threads,
            "autoreset": autoreset,
            "observation": observation,
            "copy": copy,
            "render_mode": render_mode,
            **params,
        }
        check_render_mode(render_mode, ["rgb_array"])
        if observation not in ("float32", "compact"):
            raise ValueError(
                f'observation: there is no form {observation!r}; there is: "float32", "compact"'
            )
        if not is_whole(num_envs) or num_envs < 1:
            raise ValueError(f"num_envs: must be at least 1, a whole number, not {num_envs!r}")
        num_envs = int(num_envs)
        self._json = params_json(params)
        self._world = _coplay.World(source(id), self._json)
        self.world_spec = spec = Spec.from_json(self._world.spec())
        self.instances, self.render_mode, self._copy = num_envs, render_mode, copy
        self._vector = _coplay.Vector(
            source(id),
            self._json,
            num_envs,
            threads=threads or 0,
            autoreset=autoreset,
            compact=observation == "compact",
            partners=names(partners, seat, spec),
        )
        self.seats_played = spec.seats if seat == "all" else 1
        self.num_envs = num_envs * self.seats_played
        self.metadata = {
            "autoreset_mode": AUTORESET[autoreset],
            "render_modes": ["rgb_array"],
            "render_fps": spec.tick_hz or 10,
        }
        self.single_observation_space = spec.observation_space(compact=observation == "compact")
        self.single_action_space = spec.action_space()
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._started = False
        self._view(seat)

    def _view(self, seat: int | Literal["all"]) -> None:
        """Makes the views of the native arrays that every call returns."""
        arrays = self._vector.arrays

        def played(array: Array) -> Array:
            return array.reshape(-1, *array.shape[2:]) if seat == "all" else array[:, seat]

        self._observations = played(arrays["observations"])
        self._observations.flags.writeable = False
        self._finals = played(arrays["final_observations"])
        self._rewards = played(arrays["rewards"])
        self._terminated = played(arrays["terminated"].view(np.bool_))
        self._truncated = played(arrays["truncated"].view(np.bool_))
        self._lengths = arrays["episode_length"]
        self._infos = {
            "action_mask": played(arrays["masks"].view(np.int8)),
            "episode_return": played(arrays["episode_return"]),
            "episode_length": np.zeros(self.num_envs, self._lengths.dtype),
            "events": played(arrays["events"]),
        }
        everyone = np.ones(self.num_envs, np.bool_)
        self._all = {f"_{key}": everyone for key in self._infos}

    @property
    def observation_fields(self) -> tuple[Field, ...]:
        """The fields of an observation: names, shapes and slices."""
        return self.world_spec.observation

    @property
    def events(self) -> Array:
        """The events of the last step, `[instance, seat, kind]`: the amounts of `world_spec.events`, for all seats.

        `infos["events"]` has those of the seats that the caller plays.
        """
        events: Array = self._vector.arrays["events"]
        return events

    @property
    def threads(self) -> int:
        """Number of threads that step the instances."""
        return self._vector.threads

    def by_instance(self, array: Array) -> Array:
        """Views an array with a row for each sub-environment as `[instance, seat, ...]`."""
        return array.reshape(self.instances, self.seats_played, *array.shape[1:])

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Array, dict[str, Any]]:
        """Starts episodes: of `seed`, `seed + 1` and so on, of a list with a seed for each instance,
        or else the next of each instance's stream.

        `options={"reset_mask": mask}` resets some of the sub-environments and leaves the others alone.
        """
        super().reset(seed=seed if isinstance(seed, int) else None)
        which = self._which((options or {}).get("reset_mask"))
        self._vector.reset(self._seeds(seed), which)
        self._started = True
        return self._returned(self._observations), self._information()

    def _which(self, mask: Any) -> list[bool] | None:
        if mask is None:
            return None
        mask = np.asarray(mask)
        if mask.dtype != np.bool_ or mask.shape not in [(self.num_envs,), (self.instances,)]:
            raise ValueError(
                f"options['reset_mask']: must be an array of {self.num_envs} bools, "
                f"not {mask.dtype} {mask.shape}"
            )
        by_instance: list[bool] = mask.reshape(self.instances, -1).any(axis=1).tolist()
        return by_instance

    def _seeds(self, seed: int | Sequence[int | None] | None) -> list[int | None]:
        if isinstance(seed, int | np.integer):
            checked_seed(int(seed) + self.instances - 1)
            return [int(seed) + instance for instance in range(self.instances)]
        seeds = [None] * self.instances if seed is None else list(seed)
        if len(seeds) != self.instances:
            raise ValueError(
                f"seed: {len(seeds)} are given for {self.instances} instances; "
                "give one for each, or a single one"
            )
        if not self._started:
            drawn = self.np_random.integers(2**64, size=self.instances, dtype=np.uint64).tolist()
            seeds = [own if seed is None else seed for seed, own in zip(seeds, drawn, strict=True)]
        return [checked_seed(seed) for seed in seeds]

    def step(
        self, actions: Array
    ) -> tuple[Array, Array, Array, Array, dict[str, Any]]:
        """Advances every instance by one step."""
        if not self._started:
            raise ResetNeeded("call reset() before the first step()")
        actions = np.asarray(actions)
        if actions.dtype.kind not in "iu" or actions.shape != (self.num_envs,):
            raise ValueError(
                f"actions: must be {self.num_envs} whole numbers, not {actions.dtype} {actions.shape}"
            )
        changed = self._vector.step(np.ascontiguousarray(actions, np.int64))
        infos = self._information()
        if changed and self.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP:
            self._add_finals(infos)
        return (
            self._returned(self._observations),
            self._returned(self._rewards),
            self._returned(self._terminated),
            self._returned(self._truncated),
            infos,
        )

    def _returned(self, array: Array) -> Array:
        return array.copy() if self._copy else array

    def _information(self) -> dict[str, Any]:
        self.by_instance(self._infos["episode_length"])[:] = self._lengths[:, None]
        infos = {key: self._returned(array) for key, array in self._infos.items()}
        return infos | self._all

    def _add_finals(self, infos: dict[str, Any]) -> None:
        """Adds what was observed last in the episodes that ended in this step."""
        ended = np.repeat(self._vector.restarted(), self.seats_played)
        if not ended.any():
            return
        final: dict[str, Any] = {}
        for key in ("episode_return", "episode_length", "events"):
            final |= {key: infos[key], f"_{key}": ended}
        infos |= {"final_obs": self._returned(self._finals), "_final_obs": ended}
        infos |= {"final_info": final, "_final_info": ended}

    def get_state(self) -> list[bytes]:
        """The episode of each instance on its way, as `coplay.Env.get_state` gives it."""
        return [self._vector.get_state(instance) for instance in range(self.instances)]

    def set_state(self, states: Sequence[bytes]) -> Array:
        """Takes up states, one for each instance, and gives what is observed in them."""
        if len(states) != self.instances:
            raise ValueError(f"{len(states)} states are given for {self.instances} instances")
        for instance, state in enumerate(states):
            self._vector.set_state(instance, state)
        self._started = True
        return self._returned(self._observations)

    def describe(self, instance: int, seat: int = 0) -> str:
        """The state of an instance in words, as seen from a seat."""
        self._world.set_state(self._vector.get_state(instance))
        return self._world.describe(seat)

    def render(self) -> tuple[NDArray[np.uint8], ...] | None:
        """A picture of each instance, `[row, column, 3]`."""
        if self.render_mode is None:
            gymnasium.logger.warn(
                'render() was called without a render_mode; give render_mode="rgb_array"'
            )
            return None
        return tuple(self._picture(instance) for instance in range(self.instances))

    def _picture(self, instance: int) -> NDArray[np.uint8]:
        self._world.set_state(self._vector.get_state(instance))
        return self._world.pixels()

    def __enter__(self) -> VectorEnv:
        """Gives the environment itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Closes it."""
        self.close()

    def __getstate__(self) -> dict[str, Any]:
        """The state for pickling and copying."""
        kept = {"spec": self.spec, "_np_random": self._np_random, "_started": self._started}
        return {"arguments": self._arguments, "states": self.get_state(), "kept": kept}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Opens the environment anew and takes up its state."""
        self.__init__(**state["arguments"])  # type: ignore[misc]
        self.set_state(state["states"])
        self.__dict__.update(state["kept"])


def names(
    partners: str | Sequence[str], seat: int | Literal["all"], spec: Spec
) -> list[str | None]:
    """The partner of each seat, or `None` where the caller plays."""
    if seat == "all":
        if partners != "idle":
            raise ValueError('partners: with seat="all" the caller plays every seat; leave them out')
        return [None] * spec.seats
    if not is_whole(seat) or not 0 <= seat < spec.seats:
        raise ValueError(
            f'seat: there is no seat {seat!r}; `{spec.id}` has seats 0 to {spec.seats - 1}, or "all"'
        )
    others = seated(partners, seat, spec.seats)
    for other in others.values():
        if not isinstance(other, str):
            raise ValueError(f"partners: {other!r} is no name; a batch takes {spec_names()}")
    return [others.get(other) for other in range(spec.seats)]  # type: ignore[misc]


def spec_names() -> str:
    """The names of the partners, for an error."""
    return ", ".join(_coplay.partners())
