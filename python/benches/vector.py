"""The cost of the vector API: 1,024 cramped rooms on one core, every seat played, uniform actions.

Prints one JSON object a line: `{"name", "value", "unit"}`. The native bench of the crate `batch` measures the same
work, with the masks and infos that this API always gives.
"""

import json
import time

import numpy as np

import coplay

INSTANCES, ROWS, SECONDS = 1024, 512, 1.5


def measure(observation: str) -> float:
    """Steps per second in the best of many short rounds: other work on the machine only ever adds time."""
    envs = coplay.make_vec("overcooked", INSTANCES, seat="all", observation=observation, threads=1)
    # Drawn beforehand, and more than a branch predictor remembers.
    actions = np.random.default_rng(1).integers(0, 7, (ROWS, envs.num_envs))
    envs.reset(seed=1)
    best, earned, at, start = float("inf"), 0.0, 0, time.perf_counter()
    while time.perf_counter() - start < SECONDS:
        rows = actions[at : at + 16]
        at = (at + 16) % ROWS
        before = time.perf_counter()
        for row in rows:
            observations, rewards, *_ = envs.step(row)
        best = min(best, (time.perf_counter() - before) / 16)
        earned += float(rewards.sum())
    assert observations.shape == envs.observation_space.shape
    assert earned > 0, "random cooks put onions into pots"
    return INSTANCES / best


for observation, name in [("float32", "f32"), ("compact", "compact")]:
    value = round(measure(observation), 2)
    name = f"Python: 1,024 instances, {name} observations, one core"
    print(json.dumps({"name": name, "value": value, "unit": "steps/s"}), flush=True)
