"""Episodes that people played: seeds and actions, from which the environment computes everything else again.

They come from the data of a study, or from the human data published with `overcooked-ai`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coplay import _coplay
from coplay._overcooked_ai import SUFFIXES, Trial, read_trials
from coplay.dataset import Dataset
from coplay.episode import Episode
from coplay.spec import Spec, params_schema

PEOPLE = "people"
"""The name for a seat that a person plays from the first tick to the last."""

SHOWN = ("appearance", "tick_hz")
"""Parameters that change what people see, and how fast, but nothing else."""


@dataclass(frozen=True)
class Played:
    """One episode."""

    id: str
    stage: str
    env: str
    source: str
    """The source of the environment: its id, or the path of a module."""
    params: dict[str, Any]
    seed: int
    actions: NDArray[np.int64]
    """`[tick, seat]`."""
    is_human: NDArray[np.bool_]
    """`[tick, seat]`: whether a person played."""
    agents: tuple[str | None, ...]
    """The player of each seat: `PEOPLE`, or an AI partner by its name; `None` where this changed."""
    participants: tuple[str | None, ...]
    missing: str = ""
    """Why the environment cannot be opened here; empty if it can."""

    @cached_property
    def spec(self) -> Spec:
        """The properties of the environment with these parameters."""
        return Spec.from_json(_coplay.World(self.source, json.dumps(self.params)).spec())

    def replay(self) -> Iterator[_coplay.World]:
        """The environment before each tick."""
        world = _coplay.World(self.source, json.dumps(self.params))
        world.reset(self.seed)
        for row in self.actions:
            yield world
            world.step([int(action) for action in row])

    def observations(self, seat: int) -> NDArray[np.float32]:
        """`[tick, value]`: what a seat observes before each tick."""
        return np.stack([world.observe(seat) for world in self.replay()])


def read_played(data: str | os.PathLike[str] | Dataset) -> list[Played]:
    """Every episode of a data folder, an export, a crate, a `Dataset`, or a file of human trials of `overcooked-ai`.

    Episodes without a tick, and those in which the steps of somebody who withdrew are missing, are left out. Raises
    `FileNotFoundError` if there is no such data.
    """
    if not isinstance(data, Dataset):
        path = Path(data)
        if path.suffix in SUFFIXES:
            return [_from_trial(trial) for trial in read_trials(path)]
        data = Dataset(path)
    found = [_from_episode(data, episode) for episode in data if episode.ticks > 0]
    return [it for it in found if it is not None]


def _from_trial(trial: Trial) -> Played:
    """A trial of `overcooked-ai`, whose players are all people unless it says otherwise."""
    human = np.tile(np.array(trial.is_human), (len(trial.actions), 1))
    return Played(
        id=trial.id,
        stage=trial.kitchen,
        env="overcooked_ai",
        source="overcooked_ai",
        params=trial.params,
        seed=0,
        actions=trial.actions,
        is_human=human,
        agents=tuple(PEOPLE if is_human else "ai" for is_human in trial.is_human),
        participants=trial.participants,
    )


def _from_episode(data: Dataset, episode: Episode) -> Played | None:
    """An episode of a study; `None` if somebody who withdrew is missing in it."""
    seats = len(episode.participants)
    steps = episode.steps.sort_values(["tick", "seat"])
    if len(steps) != episode.ticks * seats:
        return None
    shape = (episode.ticks, seats)
    controllers = steps["controller"].to_numpy(object).reshape(shape)
    source, missing = "", ""
    try:
        source = data._source(episode)
    except ValueError as error:
        missing = str(error)
    return Played(
        id=episode.id,
        stage=episode.stage,
        env=episode.env,
        source=source,
        params=episode.params,
        seed=episode.seed,
        actions=steps["action"].to_numpy(np.int64).reshape(shape),
        is_human=np.asarray(controllers == "human", np.bool_),
        agents=tuple(
            _name_agent(column, row.get("partner"))
            for column, row in zip(controllers.T, episode._seats, strict=True)
        ),
        participants=tuple(episode.participants),
        missing=missing,
    )


def _name_agent(controllers: NDArray[Any], partner: str | None) -> str | None:
    """The player of a seat, by the controllers of all ticks; models go by their file name, without their hash.

    Models that are not disclosed have no file name: they go by the partner's name in the study file, or by their hash.
    """
    names = set(controllers)
    if len(names) != 1:
        return None
    name, _, model = str(names.pop()).partition("@")
    if name == "human":
        return PEOPLE
    if name == "ai" and model:
        return partner or f"ai@{model[:8]}"
    return name


def choose(
    played: Sequence[Played], *, env: str | None = None, stage: str | None = None
) -> list[Played]:
    """The episodes of one environment and, if it is named, one stage.

    Raises `ValueError` if there is none, or if there are several environments and none is named; the message lists
    what there is.
    """
    there = sorted({(it.env, it.stage) for it in played})
    listed = ", ".join(f"{env} in stage {stage}" for env, stage in there) or "no episode that was played"
    found = [it for it in played if env in (None, it.env) and stage in (None, it.stage)]
    if not found:
        wanted = " ".join([env or "any environment", *(["in stage", stage] if stage else [])])
        raise ValueError(f"the data have no episode of {wanted}; they have {listed}")
    if len({it.env for it in found}) > 1:
        raise ValueError(f"the data have several environments; name one (env): {listed}")
    return _check(found)


def with_params(played: Sequence[Played], env: str, params: dict[str, Any]) -> list[Played]:
    """The episodes of an environment with these parameters; looks, names and pace may differ.

    Raises `ValueError` if there is none; the message lists the parameters that there are.
    """
    of_env = [it for it in played if env in (it.env, it.source)]
    wanted = fill(env, params)
    found = [it for it in of_env if fill(it.env, it.params) == wanted]
    if not found:
        there = sorted({json.dumps(it.params, sort_keys=True) for it in of_env})
        listed = "; ".join(there) if there else "no episode of it at all"
        raise ValueError(f"people: the data have no episode of {env} with {json.dumps(params)}; they have {listed}")
    return _check(found)


def _check(played: list[Played]) -> list[Played]:
    """The episodes. Raises `ValueError` if the environment of one cannot be opened here."""
    for it in played:
        if it.missing:
            raise ValueError(it.missing)
    return played


def fill(env: str, params: dict[str, Any]) -> dict[str, Any]:
    """Parameters with the defaults of the environment, without those that only change what people see."""
    try:
        schema = params_schema(env)
    except ValueError:
        schema = {}
    defaults = {
        name: field["default"] for name, field in schema.get("properties", {}).items() if "default" in field
    }
    return {name: value for name, value in {**defaults, **params}.items() if name not in SHOWN}

