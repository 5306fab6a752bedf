"""Trains partners for Overcooked by PPO, and writes them as ONNX files that people can play with.

    pip install ./python torch onnx onnxruntime
    python examples/train-overcooked/train.py self-play agent.onnx --minutes 15
    python examples/train-overcooked/train.py best-response response.onnx --partners agent.onnx
    python examples/train-overcooked/train.py population pool --agents 4
    python examples/train-overcooked/train.py self-play agent.onnx --target 7.5 --curve curve.svg

`self-play` plays both seats with one policy. `best-response` plays one seat beside fixed partners, on both sides.
`population` is fictitious co-play (Strouse et al. 2021): agents of several seeds, each kept at its start, halfway and
at its end, and then a best response to all of them. Beside each file there is a learning curve (`.csv`) and a recording
(`.npz`), with which `coplay agent check` certifies that the file plays here as it did in training. The last line of a
training says after how many minutes it made `--target` deliveries an episode; `--curve` draws how it got there.
"""

from __future__ import annotations

import argparse
import copy
import csv
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import coplay
import numpy as np
import torch
from coplay import export
from coplay.evaluate import cross_play
from torch import nn

KITCHEN = {"layout": "cramped_room", "horizon": 1000}
DELIVERIES = [{"kind": "delivery", "worth": 1}]
"""Rewards under which the return of an episode is its number of deliveries."""


@dataclass
class Plan:
    """The numbers of a training."""

    minutes: float = 15.0
    steps: int = 10**12
    """Steps of the kitchen after which it ends, if the minutes are not over before."""
    seed: int = 1
    instances: int = 128
    rollout: int = 128
    """Steps that are played before the policy learns from them."""
    epochs: int = 4
    minibatches: int = 8
    rate: float = 7e-4
    entropy: tuple[float, float] = (0.05, 0.005)
    """Weight of the entropy at the start and at the end."""
    discount: float = 0.99
    trace: float = 0.95
    clip: float = 0.2
    hidden: int = 128
    reward_scale: float = 0.1
    kitchen: dict[str, Any] = field(default_factory=lambda: dict(KITCHEN))


class Scale(nn.Module):
    """Brings every value of the observation to a size of at most 1; a part of the exported model."""

    def __init__(self, spec: coplay.Spec) -> None:
        super().__init__()
        parts = []
        for it in spec.observation:
            size = max(1.0, *(abs(bound) for bound in it.range or (1.0, 1.0)))
            parts.append(np.full(it.slice.stop - it.slice.start, 1 / size if size < 1e6 else 1.0))
        self.register_buffer("factor", torch.tensor(np.concatenate(parts), dtype=torch.float32))

    def forward(self, observation: torch.Tensor) -> torch.Tensor:
        return observation * self.factor


class Agent(nn.Module):
    """An actor and a critic, each with two hidden layers."""

    def __init__(self, spec: coplay.Spec, hidden: int) -> None:
        super().__init__()
        self.actor = self._body(spec, hidden, len(spec.actions), 0.01)
        self.critic = self._body(spec, hidden, 1, 1.0)

    @staticmethod
    def _body(spec: coplay.Spec, hidden: int, outputs: int, gain: float) -> nn.Sequential:
        inputs = spec.observation[-1].slice.stop
        first, second = nn.Linear(inputs, hidden), nn.Linear(hidden, hidden)
        body = nn.Sequential(Scale(spec), first, nn.Tanh(), second, nn.Tanh(), nn.Linear(hidden, outputs))
        for layer in body:
            if isinstance(layer, nn.Linear):
                nn.init.orthogonal_(layer.weight, gain if layer.out_features == outputs else 2**0.5)
                nn.init.zeros_(layer.bias)
        return body

    def forward(self, observation: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return self.actor(observation), self.critic(observation).squeeze(-1)


class Kitchens:
    """The instances that a policy learns in, all of its seats in one long row."""

    def __init__(self, plan: Plan, partners: Sequence[str]) -> None:
        more = {"autoreset": "same_step", **plan.kitchen}
        if not partners:
            self.envs = [coplay.VectorEnv("overcooked", plan.instances, seat="all", **more)]
        else:
            each = max(1, plan.instances // len(partners))
            self.envs = [
                coplay.VectorEnv("overcooked", each, seat=seat, partners=[partner], **more)
                for partner in partners
                for seat in (0, 1)
            ]
        self.spec = self.envs[0].world_spec
        self.instances = sum(env.instances for env in self.envs)
        self.rows = sum(env.num_envs for env in self.envs)
        self.delivery = self.spec.events.index("delivery")
        worth = {it["kind"]: it["worth"] for it in plan.kitchen.get("rewards", [])}
        self.worth = worth.get("delivery", 20)

    def reset(self, seed: int) -> np.ndarray:
        """Starts every episode; the observations, `[row, value]`."""
        return np.concatenate([env.reset(seed=seed + 10_000 * at)[0] for at, env in enumerate(self.envs)])

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, float]:
        """Observations, rewards, ends, last observations of ended episodes, and the number of deliveries."""
        parts, at, delivered = [], 0, 0.0
        for env in self.envs:
            observed, reward, terminated, truncated, info = env.step(actions[at : at + env.num_envs])
            ended = terminated | truncated
            last = info["final_obs"] if "final_obs" in info else observed
            parts.append([array.copy() for array in (observed, reward, ended, last)])
            # Those of all seats: beside a partner, the caller plays one.
            delivered += float(env.events[:, :, self.delivery].sum()) / self.worth
            at += env.num_envs
        observed, reward, ended, last = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        return observed, reward, ended, last, delivered


@dataclass
class Rollout:
    """The episodes: arrays `[step, row, ...]`."""

    observations: torch.Tensor
    actions: torch.Tensor
    logs: torch.Tensor
    values: torch.Tensor
    rewards: torch.Tensor
    ended: torch.Tensor
    after: torch.Tensor
    """The values of the observations after each step."""
    deliveries: float


@torch.no_grad()
def play(agent: Agent, kitchens: Kitchens, observed: np.ndarray, plan: Plan) -> tuple[Rollout, np.ndarray]:
    """Plays a rollout from where the kitchens stand."""
    rows, kept, deliveries = kitchens.rows, [], 0.0
    for _ in range(plan.rollout):
        seen = torch.tensor(observed)
        logits, values = agent(seen)
        chosen = torch.distributions.Categorical(logits=logits)
        actions = chosen.sample()
        observed, rewards, ended, last, delivered = kitchens.step(actions.numpy())
        deliveries += delivered
        # An episode that is over is cut off by its horizon alone: what would follow it counts as if it were played.
        after = torch.zeros(rows)
        over = np.flatnonzero(ended)
        if len(over):
            after[over] = agent.critic(torch.tensor(last[over])).squeeze(-1)
        rewards = torch.tensor(rewards, dtype=torch.float32) * plan.reward_scale
        kept.append((seen, actions, chosen.log_prob(actions), values, rewards, torch.tensor(ended), after))
    columns = [torch.stack(column) for column in zip(*kept, strict=True)]
    rollout = Rollout(*columns, deliveries=deliveries)
    following = torch.cat([rollout.values[1:], agent.critic(torch.tensor(observed)).squeeze(-1)[None]])
    rollout.after = torch.where(rollout.ended, rollout.after, following)
    return rollout, observed


def advantages(rollout: Rollout, plan: Plan) -> torch.Tensor:
    """Generalised advantage estimates, `[step, row]`. Source: Schulman et al. 2016."""
    found = torch.zeros_like(rollout.values)
    running = torch.zeros(found.shape[1])
    errors = rollout.rewards + plan.discount * rollout.after - rollout.values
    for step in reversed(range(len(found))):
        running = errors[step] + plan.discount * plan.trace * running * ~rollout.ended[step]
        found[step] = running
    return found


def learn(agent: Agent, optimiser: torch.optim.Optimizer, rollout: Rollout, plan: Plan, entropy: float) -> None:
    """Some epochs of PPO with a clipped objective. Source: Schulman et al. 2017."""
    gains = advantages(rollout, plan)
    targets = (gains + rollout.values).flatten()
    observations, actions = rollout.observations.flatten(0, 1), rollout.actions.flatten()
    logs, gains = rollout.logs.flatten(), gains.flatten()
    for _ in range(plan.epochs):
        for rows in torch.randperm(len(actions)).chunk(plan.minibatches):
            logits, values = agent(observations[rows])
            chosen = torch.distributions.Categorical(logits=logits)
            ratio = (chosen.log_prob(actions[rows]) - logs[rows]).exp()
            gain = gains[rows]
            gain = (gain - gain.mean()) / (gain.std() + 1e-8)
            clipped = ratio.clamp(1 - plan.clip, 1 + plan.clip)
            loss = -torch.min(ratio * gain, clipped * gain).mean()
            loss = loss + 0.5 * (values - targets[rows]).square().mean() - entropy * chosen.entropy().mean()
            optimiser.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            optimiser.step()


@dataclass
class Trained:
    """A trained agent, its curve, and what it was on its way."""

    agent: Agent
    curve: list[dict[str, float]]
    snapshots: list[tuple[float, dict[str, torch.Tensor]]]
    """Deliveries per episode, and the weights at that time; the first is before any learning."""


def train(plan: Plan, partners: Sequence[str] = ()) -> Trained:
    """Trains a policy: with itself, or beside partners."""
    torch.manual_seed(plan.seed)
    kitchens = Kitchens(plan, partners)
    agent = Agent(kitchens.spec, plan.hidden)
    optimiser = torch.optim.Adam(agent.parameters(), lr=plan.rate, eps=1e-5)
    observed, began, steps, curve = kitchens.reset(plan.seed), time.monotonic(), 0, []
    snapshots = [(0.0, copy.deepcopy(agent.state_dict()))]
    done = 0.0
    while done < 1.0:
        rollout, observed = play(agent, kitchens, observed, plan)
        for group in optimiser.param_groups:
            group["lr"] = plan.rate * (1 - 0.9 * done)
        learn(agent, optimiser, rollout, plan, plan.entropy[0] + done * (plan.entropy[1] - plan.entropy[0]))
        steps += plan.rollout * kitchens.instances
        seconds = time.monotonic() - began
        episodes = plan.rollout * kitchens.instances / plan.kitchen["horizon"]
        row = {"seconds": seconds, "steps": steps, "deliveries": rollout.deliveries / episodes}
        row["reward"] = float(rollout.rewards.mean()) / plan.reward_scale * plan.kitchen["horizon"]
        curve.append(row)
        done = max(seconds / (60 * plan.minutes), steps / plan.steps)
        if len(curve) % 10 == 0 or done >= 1:
            print(
                f"{seconds:6.0f} s  {steps:10,} steps  {steps / seconds:9,.0f} steps/s  "
                f"{row['deliveries']:5.1f} deliveries and {row['reward']:6.1f} points an episode",
                flush=True,
            )
            snapshots.append((row["deliveries"], copy.deepcopy(agent.state_dict())))
    return Trained(agent, curve, snapshots)


def minutes_to(target: float, curve: Sequence[dict[str, float]], smoothed: int = 10) -> float | None:
    """Minutes until the mean of so many rollouts reached the target; `None` if it never did."""
    for at in range(smoothed, len(curve) + 1):
        if np.mean([row["deliveries"] for row in curve[at - smoothed : at]]) >= target:
            return curve[at - 1]["seconds"] / 60
    return None


def draw(curve: Sequence[dict[str, float]], target: float, path: Path) -> None:
    """A picture of the deliveries per episode over the minutes, as SVG."""
    width, height, left, top, bottom = 640, 320, 52, 16, 44
    minutes = np.array([row["seconds"] / 60 for row in curve])
    made = np.array([row["deliveries"] for row in curve])
    most, last = max(1.0, target, made.max()) * 1.05, max(minutes[-1], 1e-6)

    def place(minute: float, value: float) -> tuple[float, float]:
        x = left + (width - left - 12) * minute / last
        return x, top + (height - top - bottom) * (1 - value / most)

    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in map(place, minutes, made))
    (begin, base), (end, wanted) = place(0, 0), place(last, target)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'font-family="sans-serif" font-size="13" role="img" aria-label="Deliveries per episode over minutes of training">',
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
        f'<path d="M{begin} {top} V{base} H{end}" fill="none" stroke="#555"/>',
        f'<path d="M{begin} {wanted:.1f} H{end}" stroke="#b33" stroke-dasharray="4 4"/>',
        f'<text x="{end}" y="{wanted - 5:.1f}" text-anchor="end" fill="#b33">{target:g} deliveries</text>',
        f'<polyline points="{points}" fill="none" stroke="#14508c" stroke-width="1.5"/>',
    ]
    for share in (0, 0.5, 1):
        x, _ = place(last * share, 0)
        _, y = place(0, most * share)
        parts.append(f'<text x="{x:.0f}" y="{base + 18:.0f}" text-anchor="middle">{last * share:.1f}</text>')
        parts.append(f'<text x="{left - 6}" y="{y + 4:.0f}" text-anchor="end">{most * share:.1f}</text>')
    parts.append(f'<text x="{(begin + end) / 2:.0f}" y="{height - 6}" text-anchor="middle">minutes of training</text>')
    path.write_text("\n".join([*parts, "</svg>\n"]), encoding="utf-8")


def save(agent: Agent, path: Path, plan: Plan, curve: Sequence[dict[str, float]] = ()) -> Path:
    """Writes the model, its learning curve, and the recording for its certificate."""
    spec = coplay.parallel_env("overcooked", **plan.kitchen).world_spec
    export.torch(agent, path, (spec.observation[-1].slice.stop,))
    if curve:
        with path.with_suffix(".csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, list(curve[0]))
            writer.writeheader()
            writer.writerows({key: round(value, 3) for key, value in row.items()} for row in curve)
    np.savez_compressed(path.with_suffix(".npz"), **record(agent, plan))
    return path


@torch.no_grad()
def record(agent: Agent, plan: Plan, episodes: int = 2, steps: int = 200) -> dict[str, Any]:
    """A recording of the agent in both seats, in the form that `coplay agent check` reads."""
    params = {**plan.kitchen, "horizon": min(steps, plan.kitchen["horizon"])}
    env = coplay.VectorEnv("overcooked", 1, seat="all", autoreset="disabled", **params)
    seen, acted, chosen, logits, first = [], [], [], [], []
    for episode in range(episodes):
        observed, _ = env.reset(seed=plan.seed + episode)
        over, is_first = False, True
        while not over:
            values = agent.actor(torch.tensor(observed))
            first.append(is_first)
            actions = torch.distributions.Categorical(logits=values).sample().numpy()
            seen.append(observed.copy())
            acted.append(actions)
            chosen.append(values.argmax(dim=-1).numpy())
            logits.append(values.numpy().copy())
            observed, _, terminated, truncated, _ = env.step(actions)
            over, is_first = bool((terminated | truncated).all()), False
    return {
        "observations": np.stack(seen),
        "actions": np.stack(acted),
        "chosen": np.stack(chosen),
        "logits": np.stack(logits),
        "is_first": np.array(first, np.uint8),
        "seats": np.arange(2),
        "seeds": plan.seed + np.arange(episodes, dtype=np.uint64),
        "params": json.dumps(params),
    }


def deliveries(pool: dict[str, str], plan: Plan, episodes: int = 16) -> Any:
    """The cross-play matrix of a pool, in deliveries per episode."""
    return cross_play("overcooked", pool, episodes=episodes, rewards=DELIVERIES, **plan.kitchen)


def partner(path: Path) -> str:
    """A model as a partner: it draws its actions, as it did while it learned."""
    return coplay.Agent(path, temperature=1.0)


def train_population(folder: Path, agents: int, plan: Plan) -> dict[str, str]:
    """Agents of several seeds at three stages of their training, and a best response to all of them."""
    folder.mkdir(parents=True, exist_ok=True)
    pool = {}
    for at in range(agents):
        own = Plan(**{**vars(plan), "seed": plan.seed + at})
        print(f"agent {at + 1} of {agents}")
        trained = train(own)
        best = trained.snapshots[-1][0]
        halfway = min(trained.snapshots[1:], key=lambda it: abs(it[0] - best / 2))
        kept = {"start": trained.snapshots[0], "half": halfway, "end": trained.snapshots[-1]}
        for name, (_, weights) in kept.items():
            agent = Agent(coplay.parallel_env("overcooked", **plan.kitchen).world_spec, plan.hidden)
            agent.load_state_dict(weights)
            path = save(agent, folder / f"agent_{own.seed}_{name}.onnx", own, trained.curve if name == "end" else ())
            pool[path.stem] = partner(path)
    print("best response to all of them")
    trained = train(plan, list(pool.values()))
    pool["response"] = partner(save(trained.agent, folder / "response.onnx", plan, trained.curve))
    return pool


def read_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=["self-play", "best-response", "population"])
    parser.add_argument("out", type=Path, help="the model, or the folder of the population")
    parser.add_argument("--partners", nargs="+", type=Path, default=[], help="models to respond to")
    parser.add_argument("--agents", type=int, default=4, help="seeds of the population")
    parser.add_argument("--minutes", type=float, default=15.0, help="time of each training")
    parser.add_argument("--steps", type=int, default=10**12, help="steps of the kitchen of each training, at most")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--instances", type=int, default=128)
    parser.add_argument("--target", type=float, default=7.5, help="deliveries per episode, whose minutes are told")
    parser.add_argument("--curve", type=Path, help="a picture of the learning curve, as SVG")
    parser.add_argument("--kitchen", type=json.loads, default={}, help="parameters of the environment, as JSON")
    given = parser.parse_args(arguments)
    if given.curve is not None and given.kind == "population":
        parser.error("--curve draws one training, and a population has several")
    if (given.kind == "best-response") != bool(given.partners):
        parser.error("--partners names the models that `best-response` responds to, and goes with nothing else")
    return given


def main(arguments: Sequence[str] | None = None) -> None:
    """Trains what the command line asks for, and evaluates it."""
    given = read_arguments(arguments)
    plan = Plan(given.minutes, given.steps, given.seed, given.instances, kitchen={**KITCHEN, **given.kitchen})
    if given.kind == "population":
        pool = train_population(given.out, given.agents, plan)
        folder = given.out
    else:
        partners = [partner(path) for path in given.partners]
        trained = train(plan, partners)
        save(trained.agent, given.out, plan, trained.curve)
        minutes = minutes_to(given.target, trained.curve)
        took = "never" if minutes is None else f"after {minutes:.1f} minutes"
        print(f"{given.target:g} deliveries an episode: {took}, on {torch.get_num_threads()} threads")
        if given.curve is not None:
            draw(trained.curve, given.target, given.curve)
        pool = {path.stem: partner(path) for path in [given.out, *given.partners]}
        folder = given.out.parent
    result = deliveries(pool, plan)
    print(f"deliveries per episode of {plan.kitchen['horizon']} steps:\n\n{result.markdown()}")
    result.svg(folder / "cross_play.svg")
    model = folder / "response.onnx" if given.kind == "population" else given.out
    print(f"certify: coplay agent check {model} --env overcooked --against {model.with_suffix('.npz')}")


if __name__ == "__main__":
    main()
