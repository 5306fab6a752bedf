"""The quality of a model's predictions of people that it has not seen, and its scores beside theirs."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coplay import _coplay
from coplay._played import PEOPLE, Played
from coplay._split import Split
from coplay._vectors import Recording, Vectors, play, replay
from coplay.agent import Agent
from coplay.evaluate import interval, iqm, pair
from coplay.spec import partners

CLONE = "clone"

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ActionLikelihood:
    """One action, where people who were held out chose it."""

    action: str
    count: int
    likelihood: float | None
    """The mean logarithm of the probability that the model gave it there; `None` if nobody chose it."""
    baseline: float
    """The same for the frequency of the action among the other people."""
    share: float
    """How often people chose it."""
    predicted: float
    """How often the model would have, in the same states."""


@dataclass(frozen=True)
class Score:
    """The results of people, or of clones in their place, in one setting."""

    stage: str
    setting: str
    """The parameters that differ between the episodes of the data."""
    player: str
    """`people` or `clone`."""
    partner: str
    """The players of the other seats: the same kind, or an AI partner; `none` with one seat."""
    episodes: int
    score_mean: float
    score_iqm: float
    score_low: float
    score_high: float
    idle_share: float
    action_diversity: float


@dataclass(frozen=True)
class Report:
    """The facts about a human proxy."""

    model: str
    people_learned: int
    people_held_out: int
    split: str
    """`groups` if everybody who played together is on the same side, otherwise `people`."""
    actions: int
    """The number of actions of the people who were held out."""
    likelihood: float
    """The mean logarithm of the probability that the model gave these actions."""
    baseline: float
    """The same for the frequencies of the actions among the other people."""
    gain_low: float | None
    """95 % interval of `likelihood - baseline`, by a bootstrap over people; `None` with one person."""
    gain_high: float | None
    accuracy: float
    """The share of actions to which the model gave the greatest probability."""
    baseline_accuracy: float
    by_action: list[ActionLikelihood]
    scores: list[Score]
    not_played: list[str]
    """AI partners of people that are not here, so that the clone was not scored beside them."""

    def to_dict(self) -> dict[str, Any]:
        """The report as plain data."""
        return asdict(self)

    def markdown(self) -> str:
        """The report as Markdown, for people."""
        gain = self.likelihood - self.baseline
        between = "" if self.gain_low is None else f" (95 % interval over people {self.gain_low:.3f} to {self.gain_high:.3f})"
        lines = [
            f"{self.model}: learned from {self.people_learned} people, "
            f"tried on {self.people_held_out} others, split by {self.split}",
            "",
            f"Held-out likelihood: {self.likelihood:.3f} per action, {self.baseline:.3f} by frequencies alone: "
            f"{gain:+.3f}{between}",
            f"Held-out accuracy: {self.accuracy:.1%}, {self.baseline_accuracy:.1%} by the most frequent action, "
            f"of {self.actions} actions",
            "",
            "| action | chosen | likelihood | by frequencies | people | clone |",
            "| --- | ---: | ---: | ---: | ---: | ---: |",
        ]
        for it in self.by_action:
            likelihood = "–" if it.likelihood is None else f"{it.likelihood:.3f}"
            cells = [it.action, str(it.count), likelihood, f"{it.baseline:.3f}", f"{it.share:.1%}", f"{it.predicted:.1%}"]
            lines.append("| " + " | ".join(cells) + " |")
        head = ["stage", "setting", "player", "partner", "episodes", "score", "95 %", "idle", "diversity"]
        lines += ["", "| " + " | ".join(head) + " |", "| --- | --- | --- | --- |" + " ---: |" * 5]
        for own in self.scores:
            numbers = [f"{own.score_iqm:.1f}", f"{own.score_low:.1f} to {own.score_high:.1f}"]
            numbers += [f"{own.idle_share:.1%}", f"{own.action_diversity:.2f}"]
            cells = [own.stage, own.setting, own.player, own.partner, str(own.episodes), *numbers]
            lines.append("| " + " | ".join(cells) + " |")
        lines += [f"not played: {name}, which is not here" for name in self.not_played]
        return "\n".join(lines) + "\n"


def write_report(
    model: Path, played: Sequence[Played], split: Split, episodes: int, seed: int, tell: Callable[[str], None]
) -> Report:
    """The report on a model. Raises `ValueError` if it does not play the environment."""
    agent = str(Agent(model, temperature=1.0))
    counts = np.ones(len(played[0].spec.actions))
    for it in played:
        for seat, person in enumerate(it.participants):
            if person in split.learned:
                np.add.at(counts, it.actions[it.is_human[:, seat], seat], 1)
    frequencies = counts / counts.sum()
    tell("asking the model what people chose who were held out")
    people, actions, shares = _ask(agent, played, split.held_out)
    logs = np.log(np.maximum(shares, 1e-12))
    rows = np.arange(len(actions))
    gains = logs[rows, actions] - np.log(frequencies)[actions]
    means = np.array([gains[people == person].mean() for person in np.unique(people)])
    low, high = _bootstrap(means, seed) if len(means) > 1 else (None, None)
    tell("playing for the score")
    scores, not_played = _score(agent, played, episodes, seed)
    return Report(
        model=model.name,
        people_learned=len(split.learned),
        people_held_out=len(split.held_out),
        split="groups" if split.by_group else "people",
        actions=len(actions),
        likelihood=float(logs[rows, actions].mean()),
        baseline=float(np.log(frequencies)[actions].mean()),
        gain_low=low,
        gain_high=high,
        accuracy=float((shares.argmax(axis=1) == actions).mean()),
        baseline_accuracy=float((actions == frequencies.argmax()).mean()),
        by_action=_by_action(played[0].spec.actions, actions, shares, frequencies),
        scores=scores,
        not_played=not_played,
    )


def _ask(
    agent: str, played: Sequence[Played], held_out: frozenset[str]
) -> tuple[NDArray[Any], NDArray[np.int64], Floats]:
    """Person, action, and the probabilities of all actions, for every step of those who were held out."""
    people: list[str] = []
    actions: list[int] = []
    shares: list[NDArray[np.float32]] = []
    for it in played:
        seats = [
            (seat, person)
            for seat, person in enumerate(it.participants)
            if person in held_out and it.is_human[:, seat].any()
        ]
        asked: list[_coplay.Shares] = []
        for tick, world in enumerate(it.replay() if seats else ()):
            if tick == 0:
                asked = [_coplay.Shares(agent, world, seat, it.seed) for seat, _ in seats]
            for one, (seat, person) in zip(asked, seats, strict=True):
                found = one.next(world)
                if it.is_human[tick, seat]:
                    people.append(str(person))
                    actions.append(int(it.actions[tick, seat]))
                    shares.append(found)
    return np.array(people), np.array(actions, np.int64), np.stack(shares).astype(np.float64)


def _by_action(
    names: Sequence[str], actions: NDArray[np.int64], shares: Floats, frequencies: Floats
) -> list[ActionLikelihood]:
    found = []
    for at, name in enumerate(names):
        own = np.log(np.maximum(shares[actions == at, at], 1e-12))
        found.append(
            ActionLikelihood(
                action=name,
                count=len(own),
                likelihood=float(own.mean()) if len(own) else None,
                baseline=float(np.log(frequencies[at])),
                share=len(own) / len(actions),
                predicted=float(shares[:, at].mean()),
            )
        )
    return found


def _score(
    agent: str, played: Sequence[Played], episodes: int, seed: int
) -> tuple[list[Score], list[str]]:
    """The scores of people and of clones in their place, and the AI partners that are not here."""
    groups: dict[tuple[str, str, tuple[str, ...]], list[Played]] = {}
    for it in played:
        agents = tuple(name for name in it.agents if name is not None)
        if PEOPLE in agents and len(agents) == len(it.agents):
            groups.setdefault((it.stage, json.dumps(it.params, sort_keys=True), agents), []).append(it)
    settings = _name_settings([own[0] for own in groups.values()])
    scores, absent = [], set()
    for setting, ((stage, params, agents), own) in zip(settings, groups.items(), strict=True):
        vectors = Vectors(own[0].source, params)
        theirs = replay(vectors, [it.seed for it in own], [it.actions for it in own])
        scores.append(_summarise(vectors, theirs, agents, stage, setting, PEOPLE))
        beside = set(agents) - {PEOPLE}
        if beside - set(partners()):
            absent |= beside - set(partners())
            continue
        seated = [agent if name == PEOPLE else name for name in agents]
        ticks = int(np.median(theirs.lengths))
        ours = play(vectors, seated, [seed + at for at in range(episodes)], ticks)
        named = tuple(CLONE if name == PEOPLE else name for name in agents)
        scores.append(_summarise(vectors, ours, named, stage, setting, CLONE))
    return scores, sorted(absent)


def _summarise(
    vectors: Vectors, recording: Recording, agents: tuple[str, ...], stage: str, setting: str, player: str
) -> Score:
    found = pair(vectors, recording, agents)
    scores = [_replay_score(vectors, recording, at) for at in range(len(recording.seeds))]
    low, high = interval(scores)
    seats = [seat for seat, name in enumerate(agents) if name == player]
    others = [name for seat, name in enumerate(agents) if seat != seats[0]]
    return Score(
        stage=stage,
        setting=setting,
        player=player,
        partner=others[0] if others else "none",
        episodes=len(scores),
        score_mean=float(np.mean(scores)),
        score_iqm=iqm(scores),
        score_low=low,
        score_high=high,
        idle_share=float(found.idle[:, seats].mean()),
        action_diversity=float(found.diversity[:, seats].mean()),
    )


def _replay_score(vectors: Vectors, recording: Recording, episode: int) -> float:
    """The score of an episode, as the tables of a study have it."""
    world = _coplay.World(vectors.source, vectors.params)
    world.reset(recording.seeds[episode])
    for joint in recording.actions[: recording.lengths[episode], episode]:
        world.step([int(action) for action in joint])
    return float(world.score())


def _name_settings(episodes: Sequence[Played]) -> list[str]:
    """The parameters of each episode that are not the same in all of them, short."""
    keys = sorted({key for it in episodes for key in it.params})
    differing = [key for key in keys if len({json.dumps(it.params.get(key)) for it in episodes}) > 1]
    # Where stages name the kitchens already, nothing is added.
    if len({it.stage for it in episodes}) == len({json.dumps(it.params, sort_keys=True) for it in episodes}):
        return ["" for _ in episodes]
    return [", ".join(f"{key} {_shorten(it.params.get(key))}" for key in differing) for it in episodes]


def _shorten(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= 32 else text[:31] + "…"


def _bootstrap(values: Floats, seed: int) -> tuple[float, float]:
    """A 95 % percentile interval of the mean."""
    rng = np.random.default_rng(seed)
    means = rng.choice(values, (2000, len(values))).mean(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return float(low), float(high)
