"""Records a trace of a policy of cross-environment cooperation (CEC), in its copy of JaxMARL.

This script has not been run, as no package has this copy: it follows the code of crossEnvCooperation at 71ed348.
"""

import json

import jax
import numpy as np
from flax.core.frozen_dict import FrozenDict
from jaxmarl.environments.overcooked.layouts import overcooked_layouts
from jaxmarl.environments.overcooked.overcooked import Overcooked

PACKAGE = ""
LAYOUT, RULES = "coord_ring_9", "cec"
EPISODES, STEPS = 3, 200
SEATS = [0, 1]  # the seats that are compared
PARAMS = {"rules": RULES, "layout": LAYOUT, "horizon": STEPS}
EPISODE_PARAMS = []  # the directions at the start of each episode, which are drawn

# With `random_reset`, each episode has another kitchen, and cannot be played again.
env = Overcooked(layout=FrozenDict(overcooked_layouts[LAYOUT]), random_reset=False, max_steps=STEPS)


def give(observations):
    return [{"observations": np.asarray(observations[agent])} for agent in env.agents]


def reset(seed):
    global state
    # Not `reset`: it compiles the random kitchens, too.
    observations, state = env.custom_reset(
        jax.random.PRNGKey(seed), random_reset=False, shuffle_inv_and_pot=False, layout=env.layout
    )
    EPISODE_PARAMS.append({"directions": [int(direction) for direction in state.agent_dir_idx]})
    return give(observations)


def step(actions):
    global state
    # `step_env`, as `step` begins the next episode by itself.
    observations, state, *_ = env.step_env(jax.random.PRNGKey(0), state, dict(zip(env.agents, actions)))
    return give(observations)
