"""The cross-play matrix of a pool of agents: everybody with everybody, on all sides, at the speed of the vector API.

`cross_play` plays it, and gives a `CrossPlay` with one row for each pair: returns, collisions, idle share, action diversity
and interdependence, with tables and a picture, and with rows of the people of a study beside them. `iqm` and `interval` are
the statistics by themselves.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import numpy as np

from coplay._collisions import count_collisions
from coplay._interdependence import measure_interdependence
from coplay._played import PEOPLE, Played, read_played, with_params
from coplay._vectors import Floats, Recording, Vectors, play, replay
from coplay.dataset import Dataset
from coplay.spec import params_json, source

__all__ = ["PEOPLE", "CrossPlay", "Pairing", "cross_play", "interval", "iqm"]


def iqm(values: Floats | Sequence[float]) -> float:
    """The inter-quartile mean: the mean without the lowest and the highest quarter.

    Source: Agarwal et al. 2021; as a mean trimmed by 25 % on both sides.
    """
    ordered = np.sort(np.asarray(values, np.float64))
    cut = len(ordered) // 4
    return float(ordered[cut : len(ordered) - cut].mean())


def interval(
    values: Floats | Sequence[float], *, level: float = 0.95, draws: int = 2000, seed: int = 0
) -> tuple[float, float]:
    """A percentile bootstrap interval of the inter-quartile mean."""
    given = np.asarray(values, np.float64)
    rng = np.random.default_rng(seed)
    drawn = np.sort(rng.choice(given, (draws, len(given))), axis=1)
    cut = len(given) // 4
    means = drawn[:, cut : len(given) - cut].mean(axis=1)
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


@dataclass(frozen=True)
class Pairing:
    """The results of agents in their episodes together. Arrays have one value for each episode."""

    agents: tuple[str, ...]
    """The agent of each seat."""
    returns: Floats
    """The mean return of the seats."""
    idle: Floats
    """`[episode, seat]`: the share of steps with the action that does nothing."""
    diversity: Floats
    """`[episode, seat]`: the entropy of the actions, divided by its greatest possible value."""
    collisions: Floats | None
    """The number of collisions: events of that name, or moves that failed because of another agent; `None` if the
    environment neither reports such events nor describes where its agents stand."""
    lengths: Floats
    """The number of steps."""
    interdependence: Floats | None = None
    """`[episode, seat]`: the share of the events that rely on somebody else, in the first episodes; `None` if the
    environment reports no events, or has moves alone."""


@dataclass
class CrossPlay:
    """The result of `cross_play`."""

    names: list[str]
    """The agents of the pool; then, if people are compared, `people` and the partners that they had beside the pool."""
    pairings: list[Pairing]
    best_responses: dict[str, str] = field(default_factory=dict)

    def returns(self, agent: str, partner: str) -> Floats:
        """The returns of all episodes of two agents, on all sides."""
        found = [it.returns for it in self.pairings if set(it.agents) == {agent, partner}]
        if not found:
            raise KeyError(f"{agent} and {partner} did not play together; there are {self.names}")
        return np.concatenate(found)

    def has(self, agent: str, partner: str) -> bool:
        """Returns whether two agents played together."""
        return any(set(it.agents) == {agent, partner} for it in self.pairings)

    def matrix(self) -> Floats:
        """`[agent, partner]`: the inter-quartile mean of the returns of two agents; NaN if they never played together."""

        def cell(agent: str, partner: str) -> float:
            return iqm(self.returns(agent, partner)) if self.has(agent, partner) else np.nan

        return np.array([[cell(a, b) for b in self.names] for a in self.names])

    def best_response_proximity(self, agent: str) -> float:
        """The inter-quartile mean, over partners and episodes, of the return divided by that of the best response.

        Source: ZSC-Eval (arXiv 2310.05208): at most 1, and 1 where the best response makes nothing.
        """
        if not self.best_responses:
            raise ValueError("name the best response of each partner: best_responses={partner: agent}")
        shares = []
        for partner, response in self.best_responses.items():
            best = float(self.returns(response, partner).mean())
            own = self.returns(agent, partner)
            shares.append(np.ones_like(own) if best <= 0 else np.minimum(1.0, own / best))
        return iqm(np.concatenate(shares))

    def rows(self) -> list[dict[str, Any]]:
        """A table with a row for each agent and partner who played together."""
        found = []
        for agent, partner in itertools.product(self.names, self.names):
            if not self.has(agent, partner):
                continue
            mine = [
                (it, seat)
                for it in self.pairings
                for seat, name in enumerate(it.agents)
                if name == agent and partner in (it.agents[:seat] + it.agents[seat + 1 :])
            ]
            returns = self.returns(agent, partner)
            low, high = interval(returns)
            hits = [it.collisions for it, _ in mine]
            relied = [(it.interdependence, seat) for it, seat in mine]
            found.append(
                {
                    "agent": agent,
                    "partner": partner,
                    "episodes": len(returns),
                    "return_mean": float(returns.mean()),
                    "return_iqm": iqm(returns),
                    "return_low": low,
                    "return_high": high,
                    "idle_share": _mean([it.idle[:, seat] for it, seat in mine]),
                    "action_diversity": _mean([it.diversity[:, seat] for it, seat in mine]),
                    "collisions": _mean([it for it in hits if it is not None]),
                    "interdependence": _mean([it[:, seat] for it, seat in relied if it is not None]),
                }
            )
        return found

    def frame(self) -> Any:
        """The table as a pandas `DataFrame`."""
        import pandas

        return pandas.DataFrame(self.rows())

    def markdown(self) -> str:
        """The matrix as a Markdown table."""
        head = ["", *self.names]
        lines = [head, ["---", *("---:" for _ in self.names)]]
        for name, row in zip(self.names, self.matrix(), strict=True):
            lines.append([name, *(_written(value) for value in row)])
        return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"

    def svg(self, path: str | PathLike[str] | None = None) -> str:
        """A picture of the matrix; darker is more, and empty is never played. Written to a file if one is named."""
        values = self.matrix()
        low, high = float(np.nanmin(values)), float(np.nanmax(values))
        left, cell, top = 9 * max(len(name) for name in self.names) + 12, 72, 34
        size = len(self.names) * cell
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + size + 8}" height="{top + size + 8}" '
            'font-family="sans-serif" font-size="13" role="img" aria-label="Returns of agents with partners">'
        ]
        for at, name in enumerate(self.names):
            middle = at * cell + cell / 2
            label = escape(name)
            parts.append(f'<text x="{left - 6}" y="{top + middle + 4:.0f}" text-anchor="end">{label}</text>')
            parts.append(f'<text x="{left + middle:.0f}" y="{top - 10}" text-anchor="middle">{label}</text>')
        for (row, column), value in np.ndenumerate(values):
            share = (value - low) / (high - low) if high > low else 0.5
            is_played = not np.isnan(value)
            ink = "#fff" if is_played and share > 0.55 else "#111"
            shade = [round(245 - share * (245 - end)) for end in (20, 80, 140)] if is_played else [255] * 3
            x, y = left + column * cell, top + row * cell
            parts.append(f'<rect x="{x}" y="{y}" width="{cell}" height="{cell}" fill="rgb{tuple(shade)}"/>')
            parts.append(
                f'<text x="{x + cell / 2:.0f}" y="{y + cell / 2 + 4:.0f}" fill="{ink}" '
                f'text-anchor="middle">{_written(value)}</text>'
            )
        text = "\n".join([*parts, "</svg>\n"])
        if path is not None:
            Path(path).write_text(text, encoding="utf-8")
        return text


def cross_play(
    env: str | PathLike[str],
    pool: Mapping[str, str],
    *,
    episodes: int = 64,
    seed: int = 0,
    best_responses: Mapping[str, str] | None = None,
    people: str | PathLike[str] | Dataset | None = None,
    interdependence: int = 4,
    threads: int | None = None,
    **params: Any,
) -> CrossPlay:
    """Lets every two agents of a pool play `episodes` episodes together on each side.

    The pool has a name for each agent: a script such as `"cook"`, the path of a model, or a
    `coplay.Agent`. With more than two seats, the partner has all seats but one. `people` is the data of a study: its
    episodes with these parameters become rows of `people`, and of the AI partners that they had, by their names there.
    `interdependence` is the number of episodes of each pair in which that is measured; 0 leaves it out.
    Raises `ValueError` if the pool or the data have nothing that can be played.
    """
    names = list(pool)
    unknown = [it for pair in (best_responses or {}).items() for it in pair if it not in pool]
    if not names or unknown or episodes < 1:
        what = f"best_responses names {unknown}" if unknown else "nobody plays"
        raise ValueError(f"{what}; the pool is {names}, and each pair plays at least one episode")
    if people is not None and PEOPLE in pool:
        raise ValueError(f"pool: {PEOPLE!r} is the name of the people in the data; give the agent another one")
    vectors = Vectors(source(env), params_json(params), threads or 0)
    spec = vectors.spec
    if spec.seats < 2:
        raise ValueError(f"`{spec.id}` has one seat with these parameters, and two agents need two")
    pairings = []
    if people is not None:
        played = with_params(read_played(people), spec.id, json.loads(vectors.params))
        pairings = pair_people(played, interdependence)
    seeds = [seed + episode for episode in range(episodes)]
    for agent, partner in itertools.product(names, names):
        seated = (agent, *[partner] * (spec.seats - 1))
        recording = play(vectors, [str(pool[name]) for name in seated], seeds)
        pairings.append(pair(vectors, recording, seated, interdependence))
    beside = sorted({name for it in pairings for name in it.agents} - {PEOPLE, *pool})
    names += [PEOPLE, *beside] if people is not None else []
    return CrossPlay(names, pairings, dict(best_responses or {}))


def pair_people(played: Sequence[Played], interdependence: int = 0) -> list[Pairing]:
    """A pairing for each composition of seats that people played in; episodes in which a seat changed hands are left out."""
    groups: dict[tuple[str, tuple[str, ...]], list[Played]] = {}
    for it in played:
        agents = tuple(name for name in it.agents if name is not None)
        if PEOPLE in agents and len(agents) == len(it.agents):
            groups.setdefault((json.dumps([it.source, it.params], sort_keys=True), agents), []).append(it)
    pairings = []
    for (_, agents), own in groups.items():
        vectors = Vectors(own[0].source, json.dumps(own[0].params))
        recording = replay(vectors, [it.seed for it in own], [it.actions for it in own])
        pairings.append(pair(vectors, recording, agents, interdependence))
    return pairings


def pair(
    vectors: Vectors, recording: Recording, agents: tuple[str, ...], interdependence: int = 0
) -> Pairing:
    """The results of agents on recorded episodes."""
    spec = vectors.spec
    collisions = recording.collisions
    if collisions is None:
        collisions = count_collisions(vectors, recording)
    counts = np.zeros((len(recording.seeds), spec.seats, len(spec.actions)))
    running = np.arange(len(recording.actions))[:, None] < recording.lengths
    episode, seat = np.indices(counts.shape[:2])
    for joint, still in zip(recording.actions, running, strict=True):
        counts[episode, seat, joint] += still[:, None]
    shares = counts / recording.lengths[:, None, None]
    logs = np.log(shares, out=np.zeros_like(shares), where=shares > 0)
    return Pairing(
        agents=agents,
        returns=recording.returns.mean(axis=1),
        idle=shares[:, :, spec.noop],
        diversity=-(shares * logs).sum(axis=2) / np.log(len(spec.actions)),
        collisions=collisions,
        lengths=recording.lengths.astype(np.float64),
        interdependence=measure_interdependence(vectors, recording, interdependence),
    )


def _mean(parts: Sequence[Floats]) -> float | None:
    return float(np.concatenate(parts).mean()) if parts else None


def _written(value: float) -> str:
    return "–" if np.isnan(value) else f"{value:.1f}"
