"""Records a trace of a policy in an environment of this package."""

import json
from importlib.metadata import version

import coplay
import numpy as np

PACKAGE = "coplay " + version("coplay")
ENVIRONMENT, LAYOUT, RULES = "overcooked", "cramped_room", "corrected"
EPISODES, STEPS = 3, 400
SEATS = [0, 1]  # the seats that are compared
PARAMS = {"rules": RULES, "layout": LAYOUT, "horizon": STEPS}
EPISODE_PARAMS = []

env = coplay.parallel_env(ENVIRONMENT, **PARAMS)


def give(observations):
    return [{"observations": observations[agent]} for agent in env.possible_agents]


def reset(seed):
    observations, _ = env.reset(seed=seed)
    return give(observations)


def step(actions):
    observations, *_ = env.step(dict(zip(env.possible_agents, actions)))
    return give(observations)
