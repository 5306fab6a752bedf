"""Records a trace of a policy of ZSC-Eval, on a kitchen with orders. Add --action-mask to the check.

This script has not been run, as ZSC-Eval is no package: it follows its code at f940869. `given["masks"]` of a seat has 1
for each action that the policy may choose. Its kitchens of 2019 have other rules: see the recipe `neurips2019`.
"""

import argparse
import json

import numpy as np
from zsceval.envs.overcooked_new.Overcooked_Env import Overcooked

PACKAGE = ""
LAYOUT, RULES = "random3_m", "zsc-eval"
EPISODES, STEPS = 3, 400
SEATS = [0, 1]  # the seats that are compared
PARAMS = {"rules": RULES, "layout": LAYOUT, "horizon": STEPS}
EPISODE_PARAMS = []

# The arguments of its runners that the environment reads.
ARGUMENTS = argparse.Namespace(
    algorithm_name="rmappo",
    layout_name=LAYOUT,
    episode_length=STEPS,
    num_agents=2,
    old_dynamics=False,
    random_index=False,
    use_available_actions=True,
    use_phi=False,
    use_hsp=False,
    use_render=False,
    initial_reward_shaping_factor=1.0,
    reward_shaping_factor=1.0,
    reward_shaping_horizon=0,
)
env = Overcooked(ARGUMENTS, run_dir=".")


def give(observations, masks):
    # Observations are times 255 already, as the encoding `zsc_eval` is.
    return [{"observations": observations[seat], "masks": masks[seat]} for seat in range(2)]


def reset(seed):
    observations, _, masks = env.reset()
    return give(observations, masks)


def step(actions):
    observations, *_, masks = env.step([[action] for action in actions])
    return give(observations, masks)
