"""Records a trace of a policy in overcooked_ai at its tag `neurips2019`.

This script has not been run, as no package has this version: it follows the code at the tag.
"""

import json

import numpy as np
from overcooked_ai_py.mdp.actions import Action
from overcooked_ai_py.mdp.overcooked_env import OvercookedEnv
from overcooked_ai_py.mdp.overcooked_mdp import OvercookedGridworld

PACKAGE = ""
LAYOUT, RULES = "simple", "neurips2019"
EPISODES, STEPS = 3, 400
SEATS = [0, 1]  # the seats that are compared
# ZSC-Eval and HSP hand out these observations times 255: for their policies on these kitchens, multiply by 255 below, and
# add "observation": ["neurips2019_x255"].
PARAMS = {"rules": RULES, "layout": LAYOUT, "horizon": STEPS}
EPISODE_PARAMS = []

# A list of orders would be used up; these rules have none.
mdp = OvercookedGridworld.from_layout_name(LAYOUT, start_order_list=None)
env = OvercookedEnv(mdp, horizon=STEPS)


def give():
    return [{"observations": values} for values in mdp.lossless_state_encoding(env.state)]


def reset(seed):
    env.reset()
    return give()


def step(actions):
    env.step(tuple(Action.INDEX_TO_ACTION[action] for action in actions))
    return give()
