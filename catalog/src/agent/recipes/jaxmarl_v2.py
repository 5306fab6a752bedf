"""Records a trace of a policy in Overcooked V2 of JaxMARL (jaxmarl 0.2.0).

The settings of the package have the same names in PARAMS, except `agent_view_size`, which is `view_radius` there. A
trace of `sample_recipe_on_delivery`, `random_agent_positions` or `random_reset` cannot be played again: they draw.
"""

import json
from importlib.metadata import version

import jax
import jaxmarl
import numpy as np
from jaxmarl.environments.overcooked_v2.common import DynamicObject

PACKAGE = "jaxmarl " + version("jaxmarl")
LAYOUT, RULES = "cramped_room", "jaxmarl-v2"
EPISODES, STEPS = 3, 400
SEATS = [0, 1]  # the seats that are compared
PARAMS = {"rules": RULES, "layout": LAYOUT, "horizon": STEPS}
EPISODE_PARAMS = []  # the wanted recipe of each episode, which JaxMARL draws

env = jaxmarl.make("overcooked_v2", layout=LAYOUT, max_steps=STEPS)
reset_env, step_env = jax.jit(env.reset), jax.jit(env.step_env)


def give(observations):
    return [{"observations": np.asarray(observations[agent])} for agent in env.agents]


def reset(seed):
    global state
    observations, state = reset_env(jax.random.PRNGKey(seed))
    EPISODE_PARAMS.append({"recipes": [DynamicObject.get_ingredient_idx_list(state.recipe)]})
    return give(observations)


def step(actions):
    global state
    # `step_env`, as `step` begins the next episode by itself.
    observations, state, *_ = step_env(jax.random.PRNGKey(0), state, dict(zip(env.agents, actions)))
    return give(observations)
