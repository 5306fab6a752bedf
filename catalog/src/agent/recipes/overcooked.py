"""Records a trace of a policy in overcooked_ai with `old_dynamics`, in the package overcooked 0.2.1.

The repository of overcooked_ai has the same classes, in `overcooked_ai_py`.
"""

import json
from importlib.metadata import version

import numpy as np
from overcooked.mdp.actions import Action
from overcooked.mdp.overcooked_mdp import OvercookedGridworld

PACKAGE = "overcooked " + version("overcooked")
LAYOUT, RULES = "cramped_room", "overcooked-ai-old"
EPISODES, STEPS = 3, 400
SEATS = [0, 1]  # the seats that are compared
PARAMS = {"rules": RULES, "layout": LAYOUT, "horizon": STEPS}
EPISODE_PARAMS = []

mdp = OvercookedGridworld.from_layout_name(LAYOUT, old_dynamics=True)


def give():
    return [{"observations": values} for values in mdp.lossless_state_encoding(state, horizon=STEPS)]


def reset(seed):
    global state
    state = mdp.get_standard_start_state()
    return give()


def step(actions):
    global state
    state, _ = mdp.get_state_transition(state, tuple(Action.INDEX_TO_ACTION[action] for action in actions))
    return give()
