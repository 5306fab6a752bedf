"""overcooked-ai 1.1.0: the cramped room, one environment, uniform actions, rules only."""

import random

from clock import report
from overcooked_ai_py.mdp.actions import Action
from overcooked_ai_py.mdp.overcooked_env import OvercookedEnv
from overcooked_ai_py.mdp.overcooked_mdp import OvercookedGridworld

STEPS = 2_000

env = OvercookedEnv.from_mdp(OvercookedGridworld.from_layout_name("cramped_room"), horizon=STEPS + 1, info_level=0)
draw = random.Random(1)


def play():
    env.reset()
    for _ in range(STEPS):
        state, reward, done, _ = env.step((draw.choice(Action.ALL_ACTIONS), draw.choice(Action.ALL_ACTIONS)))
    assert state.timestep == STEPS and not done


play()
report("overcooked-ai, one instance, rules only", 4, STEPS, play)
