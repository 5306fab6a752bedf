"""CoGrid 0.3.2 on JAX: 1,024 cramped rooms stepped in one compiled loop, uniform actions, full observations."""

import cogrid
import cogrid.envs
import jax
import jax.numpy as jnp
from clock import report

INSTANCES, STEPS = 1024, 50

env = cogrid.make("Overcooked-CrampedRoom-V0", backend="jax")
env.reset(seed=1)
keys = jax.random.split(jax.random.key(1), INSTANCES)
first, states, _ = jax.vmap(env.jax_reset)(keys)
assert first[0].shape == (INSTANCES, 892)


def step(carry, key):
    states, seen = carry
    act, move = jax.random.split(key)
    actions = jax.random.randint(act, (2, INSTANCES), 0, 7)
    keys = jax.random.split(move, INSTANCES)
    observations, states, rewards, *_ = jax.vmap(env.jax_step)(keys, states, {0: actions[0], 1: actions[1]})
    # Every observation is used, so that none is left out as dead code.
    return (states, seen + observations[0].sum() + observations[1].sum()), rewards[0].sum()


run = jax.jit(lambda states, key: jax.lax.scan(step, (states, jnp.float32(0)), jax.random.split(key, STEPS)))


def play():
    (_, seen), rewards = run(states, jax.random.key(2))
    assert float(seen) > 0 and rewards.shape == (STEPS,)


play()
report("CoGrid JAX, 1,024 instances with observations", 4, INSTANCES * STEPS, play)
