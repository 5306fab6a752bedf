"""Records a trace of a policy in the first Overcooked of JaxMARL (jaxmarl 0.2.0)."""

import json
from importlib.metadata import version

import jax
import jaxmarl
import numpy as np
from jaxmarl.environments.overcooked import overcooked_layouts

PACKAGE = "jaxmarl " + version("jaxmarl")
LAYOUT, RULES = "cramped_room", "jaxmarl-0.2.0"
EPISODES, STEPS = 3, 400
SEATS = [0, 1]  # the seats that are compared
PARAMS = {"rules": RULES, "layout": LAYOUT, "horizon": STEPS}
EPISODE_PARAMS = []  # the directions at the start of each episode, which JaxMARL draws

env = jaxmarl.make("overcooked", layout=overcooked_layouts[LAYOUT], max_steps=STEPS)
reset_env, step_env = jax.jit(env.reset), jax.jit(env.step_env)


def give(observations):
    return [{"observations": np.asarray(observations[agent])} for agent in env.agents]


def reset(seed):
    global state
    observations, state = reset_env(jax.random.PRNGKey(seed))
    EPISODE_PARAMS.append({"directions": [int(direction) for direction in state.agent_dir_idx]})
    return give(observations)


def step(actions):
    global state
    # `step_env`, as `step` begins the next episode by itself.
    observations, state, *_ = step_env(jax.random.PRNGKey(0), state, dict(zip(env.agents, actions)))
    return give(observations)
