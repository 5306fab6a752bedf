"""Human proxies: networks that choose actions as the people of a study did, by behaviour cloning.

    python -m coplay.clone my-data --out human.onnx

`train` learns from the data of a study, or from the human data published with `overcooked-ai`, and writes an ONNX model.
`report` says how well a model predicts people that it has not seen, and compares its scores with theirs.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coplay._clone_report import Report, write_report
from coplay._inputs import Inputs, choose_inputs
from coplay._network import Encoding, Examples, Network, fit
from coplay._played import Played, choose, fill, read_played
from coplay._split import Split, split_people
from coplay.dataset import Dataset

__all__ = ["Report", "report", "train"]

Data = str | PathLike[str] | Dataset

Tell = Callable[[str], None]


@dataclass(frozen=True)
class _Chosen:
    """The episodes that were asked for, and which people are held out."""

    played: list[Played]
    split: Split


def train(
    data: Data,
    out: str | PathLike[str],
    *,
    env: str | None = None,
    stage: str | None = None,
    params: Mapping[str, Any] | None = None,
    observation: str | None = None,
    hidden: Sequence[int] = (128, 128),
    steps: int = 6000,
    held_out: float = 0.2,
    seed: int = 1,
    episodes: int = 32,
    tell: Tell = lambda line: None,
) -> Report:
    """Trains a human proxy, writes it to `out` as an ONNX model, and reports on it.

    `data` is a data folder, an export, a crate, a `Dataset`, or a table of human trials of `overcooked-ai` (`.pickle`,
    `.csv`). `env`, `stage` and `params` choose among the episodes. `held_out` is the share of the people from whom nothing
    is learned; who played together is never parted. `observation` names a field of the observation, if the model takes
    only one. `episodes` is the number that the clone plays for its score in each setting. The same `seed` gives the same
    model. Only what people did is learned: steps of AI partners are left out.

    Raises `FileNotFoundError` if there are no such data, and `ValueError` if they have no episode of this kind, or too few
    people.
    """
    chosen = _choose(data, env, stage, params, held_out, seed, tell)
    specs = {json.dumps([it.source, it.params], sort_keys=True): (it.stage, it.spec) for it in chosen.played}
    actions = {spec.actions for _, spec in specs.values()}
    if len(actions) > 1:
        raise ValueError("the episodes have different actions; clone one stage (stage)")
    inputs = choose_inputs(list(specs.values()), observation)
    rng = np.random.default_rng(seed)
    watched_people = chosen.split.watched
    parts: dict[bool, list[Examples]] = {True: [], False: []}
    for it in chosen.played:
        for seat, own in _read_seats(it, inputs, chosen.split.learned):
            if watched_people:
                parts[it.participants[seat] in watched_people].append(own)
                continue
            # Of few people, the last fifth of each episode says when to stop.
            cut = max(1, len(own.actions) * 4 // 5)
            parts[False].append(Examples(own.observations[:cut], own.actions[:cut]))
            parts[True].append(Examples(own.observations[cut:], own.actions[cut:]))
    learned, watched = _join(parts[False]), _join(parts[True])
    tell(f"learning from {len(learned.actions)} actions of {len(chosen.split.learned)} people")
    encoding = Encoding.of(learned.observations)
    if encoding.size == 0:
        raise ValueError("the observations never change in these episodes, so that nothing can be learned from them")
    network = Network(encoding, hidden, len(next(iter(actions))), rng)
    at = fit(
        network,
        learned,
        watched,
        steps=steps,
        rng=rng,
        tell=lambda step, likelihood: tell(f"step {step}: likelihood {likelihood:.3f} where it is watched"),
    )
    tell(f"kept the network of step {at}")
    network.save(out, inputs.fields, "human_proxy")
    return write_report(Path(out), chosen.played, chosen.split, episodes, seed, tell)


def report(
    model: str | PathLike[str],
    data: Data,
    *,
    env: str | None = None,
    stage: str | None = None,
    params: Mapping[str, Any] | None = None,
    held_out: float = 0.2,
    seed: int = 1,
    episodes: int = 32,
    tell: Tell = lambda line: None,
) -> Report:
    """Reports on a model that exists: the same people are held out as by `train` with the same data and seed.

    Raises `ValueError` as `train` does, and if the model does not play the environment, as one with another observation.
    """
    path = Path(model)
    if not path.is_file():
        raise FileNotFoundError(f"{path}: there is no such model")
    chosen = _choose(data, env, stage, params, held_out, seed, tell)
    return write_report(path, chosen.played, chosen.split, episodes, seed, tell)


def _choose(
    data: Data,
    env: str | None,
    stage: str | None,
    params: Mapping[str, Any] | None,
    held_out: float,
    seed: int,
    tell: Tell,
) -> _Chosen:
    tell(f"reading {data if not isinstance(data, Dataset) else data.path}")
    played = choose(read_played(data), env=env, stage=stage)
    if params:
        named = played
        wanted = dict(params).items()
        played = [it for it in named if all(fill(it.env, it.params).get(key) == value for key, value in wanted)]
        if not played:
            there = sorted({json.dumps(it.params, sort_keys=True) for it in named})
            raise ValueError(f"params: no episode has {json.dumps(dict(params))}; they have {'; '.join(there)}")
    played = [it for it in played if it.is_human.any()]
    if not played:
        raise ValueError("nobody but AI partners played these episodes, and a clone learns from people")
    split = split_people(played, held_out, np.random.default_rng(seed))
    tell(f"{len(played)} episodes; held out: {', '.join(sorted(split.held_out))}")
    return _Chosen(played, split)


def _read_seats(it: Played, inputs: Inputs, people: frozenset[str]) -> list[tuple[int, Examples]]:
    """The observations and actions of some people in an episode, by seat."""
    seats = [
        seat
        for seat, person in enumerate(it.participants)
        if person in people and it.is_human[:, seat].any()
    ]
    if not seats:
        return []
    seen = [[world.observe(seat) for seat in seats] for world in it.replay()]
    found = []
    for at, seat in enumerate(seats):
        rows = it.is_human[:, seat]
        observed = np.stack([row[at] for row in seen])[rows]
        found.append((seat, Examples(inputs.cut(it.spec, observed), it.actions[rows, seat])))
    return found


def _join(parts: Sequence[Examples]) -> Examples:
    observations = [it.observations for it in parts]
    actions: list[NDArray[np.int64]] = [it.actions for it in parts]
    return Examples(np.concatenate(observations), np.concatenate(actions))


if __name__ == "__main__":
    from coplay._clone_command import main

    raise SystemExit(main())
