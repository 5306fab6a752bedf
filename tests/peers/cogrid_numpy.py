"""CoGrid 0.3.2 on NumPy: the cramped room, one environment, uniform actions, its full observations."""

import random

import cogrid
import cogrid.envs
from clock import report

STEPS = 300

env = cogrid.make("Overcooked-CrampedRoom-V0")
draw = random.Random(1)
seed = 0


def play():
    global seed
    seed += 1
    observations, _ = env.reset(seed=seed)
    for _ in range(STEPS):
        actions = {agent: draw.randrange(7) for agent in env.agents}
        observations, rewards, *_ = env.step(actions)
    assert observations[0].shape == (892,) and len(rewards) == 2


play()
report("CoGrid NumPy, one instance with observations", 4, STEPS, play)
