"""JaxMARL: 1,024 cramped rooms stepped in one compiled loop, uniform actions, its observations, no auto-reset.

`jaxmarl_overcooked.py [overcooked | overcooked_v2]` measures the first Overcooked or the second.
"""

import sys

import jax
import jax.numpy as jnp
from clock import report
from flax.core.frozen_dict import FrozenDict
from jaxmarl import make
from jaxmarl.environments.overcooked import overcooked_layouts

INSTANCES, STEPS = 1024, 100

name = sys.argv[1] if len(sys.argv) > 1 else "overcooked"
room = "cramped_room" if name == "overcooked_v2" else FrozenDict(overcooked_layouts["cramped_room"])
env = make(name, layout=room)
_, states = jax.vmap(env.reset)(jax.random.split(jax.random.PRNGKey(1), INSTANCES))


def step(carry, key):
    states, seen = carry
    act, move = jax.random.split(key)
    actions = jax.random.randint(act, (2, INSTANCES), 0, 6)
    keys = jax.random.split(move, INSTANCES)
    named = {"agent_0": actions[0], "agent_1": actions[1]}
    observations, states, rewards, *_ = jax.vmap(env.step_env)(keys, states, named)
    # Every observation is used, so that none is left out as dead code.
    seen += sum(observation.sum(dtype=jnp.float32) for observation in observations.values())
    return (states, seen), rewards["agent_0"].sum()


run = jax.jit(lambda states, key: jax.lax.scan(step, (states, jnp.float32(0)), jax.random.split(key, STEPS)))


def play():
    (_, seen), rewards = run(states, jax.random.PRNGKey(2))
    assert float(seen) > 0 and rewards.shape == (STEPS,)


play()
FIGURES = {"overcooked": "JaxMARL", "overcooked_v2": "JaxMARL's Overcooked V2"}
report(f"{FIGURES[name]}, 1,024 instances with observations", 4, INSTANCES * STEPS, play)
