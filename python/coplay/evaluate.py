"""The cross-play matrix of a pool of agents: everybody with everybody, on all sides, at the speed of the vector API.

`cross_play` plays it, and gives a `CrossPlay` with one row for each pair: returns, collisions, idle share and
action diversity, with tables and a picture. `iqm` and `interval` are the statistics by themselves.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import numpy as np
from numpy.typing import NDArray

from coplay import _coplay
from coplay.spec import Spec, params_json, source

__all__ = ["CrossPlay", "Pairing", "cross_play", "interval", "iqm"]

Floats = NDArray[np.float64]

COLLISIONS = ("collision", "collided", "blocked")
"""Names of events that count as collisions, or that these are a part of."""


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
    """What agents made of their episodes together. Arrays have one value for each episode."""

    agents: tuple[str, ...]
    """The agent of each seat."""
    returns: Floats
    """The mean return of the seats."""
    idle: Floats
    """`[episode, seat]`: the share of steps with the action that does nothing."""
    diversity: Floats
    """`[episode, seat]`: the entropy of the actions, divided by its greatest possible value."""
    collisions: Floats | None
    """The number of collisions, if the environment reports them."""
    lengths: Floats
    """The number of steps."""


@dataclass
class CrossPlay:
    """The result of `cross_play`."""

    names: list[str]
    pairings: list[Pairing]
    best_responses: dict[str, str] = field(default_factory=dict)

    def returns(self, agent: str, partner: str) -> Floats:
        """The returns of all episodes of two agents, on all sides."""
        found = [it.returns for it in self.pairings if set(it.agents) == {agent, partner}]
        if not found:
            raise KeyError(f"{agent} and {partner} did not play together; there are {self.names}")
        return np.concatenate(found)

    def matrix(self) -> Floats:
        """`[agent, partner]`: the inter-quartile mean of the returns of two agents."""
        return np.array([[iqm(self.returns(a, b)) for b in self.names] for a in self.names])

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
        """A table with a row for each agent and partner."""
        found = []
        for agent, partner in itertools.product(self.names, self.names):
            mine = [
                (it, seat)
                for it in self.pairings
                for seat, name in enumerate(it.agents)
                if name == agent and partner in (it.agents[:seat] + it.agents[seat + 1 :])
            ]
            returns = self.returns(agent, partner)
            low, high = interval(returns)
            hits = [it.collisions for it, _ in mine]
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
            lines.append([name, *(f"{value:.1f}" for value in row)])
        return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"

    def svg(self, path: str | PathLike[str] | None = None) -> str:
        """A picture of the matrix; darker is more. Written to a file if one is named."""
        values = self.matrix()
        low, high = float(values.min()), float(values.max())
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
            ink = "#fff" if share > 0.55 else "#111"
            shade = [round(245 - share * (245 - end)) for end in (20, 80, 140)]
            x, y = left + column * cell, top + row * cell
            parts.append(f'<rect x="{x}" y="{y}" width="{cell}" height="{cell}" fill="rgb{tuple(shade)}"/>')
            parts.append(
                f'<text x="{x + cell / 2:.0f}" y="{y + cell / 2 + 4:.0f}" fill="{ink}" '
                f'text-anchor="middle">{value:.1f}</text>'
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
    threads: int | None = None,
    **params: Any,
) -> CrossPlay:
    """Lets every two agents of a pool play `episodes` episodes together on each side.

    The pool has a name for each agent: a script such as `"cook"`, the path of a model, or a
    `coplay.Agent`. With more than two seats, the partner has all seats but one.
    """
    names = list(pool)
    unknown = [it for pair in (best_responses or {}).items() for it in pair if it not in pool]
    if not names or unknown or episodes < 1:
        what = f"best_responses names {unknown}" if unknown else "nobody plays"
        raise ValueError(f"{what}; the pool is {names}, and each pair plays at least one episode")
    spec = Spec.from_json(_coplay.World(source(env), params_json(params)).spec())
    if spec.seats < 2:
        raise ValueError(f"`{spec.id}` has one seat with these parameters, and two agents need two")
    pairings = []
    for agent, partner in itertools.product(names, names):
        seated = (agent, *[partner] * (spec.seats - 1))
        vector = _coplay.Vector(
            source(env),
            params_json(params),
            episodes,
            threads=threads or 0,
            autoreset="disabled",
            compact=False,
            partners=[str(pool[name]) for name in seated],
        )
        pairings.append(_play(vector, spec, seated, episodes, seed))
    return CrossPlay(names, pairings, dict(best_responses or {}))


def _play(
    vector: _coplay.Vector, spec: Spec, agents: tuple[str, ...], episodes: int, seed: int
) -> Pairing:
    arrays, nobody = vector.arrays, np.zeros(0, np.int64)
    vector.reset([seed + episode for episode in range(episodes)])
    kinds = [any(part in name for part in COLLISIONS) for name in spec.events]
    counts = np.zeros((episodes, spec.seats, len(spec.actions)))
    hits, returns, lengths = np.zeros(episodes), np.zeros(episodes), np.zeros(episodes)
    running = np.ones(episodes, np.bool_)
    episode, seat = np.indices((episodes, spec.seats))
    while running.any():
        vector.step(nobody)
        counts[episode, seat, vector.actions()] += running[:, None]
        if any(kinds):
            hits += running * arrays["events"][:, :, kinds].sum(axis=(1, 2))
        ended = (arrays["terminated"] | arrays["truncated"]).astype(np.bool_).all(axis=1)
        returns[running] = arrays["episode_return"].mean(axis=1)[running]
        lengths += running
        running &= ~ended
    shares = counts / lengths[:, None, None]
    logs = np.log(shares, out=np.zeros_like(shares), where=shares > 0)
    return Pairing(
        agents=agents,
        returns=returns,
        idle=shares[:, :, spec.noop],
        diversity=-(shares * logs).sum(axis=2) / np.log(len(spec.actions)),
        collisions=hits if any(kinds) else None,
        lengths=lengths,
    )


def _mean(parts: Sequence[Floats]) -> float | None:
    return float(np.concatenate(parts).mean()) if parts else None
