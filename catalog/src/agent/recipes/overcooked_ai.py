"""Records a trace of a policy in overcooked_ai (overcooked-ai 1.1.0)."""

import json
from importlib.metadata import version

import numpy as np
from overcooked_ai_py.mdp.actions import Action
from overcooked_ai_py.mdp.overcooked_mdp import OvercookedGridworld

PACKAGE = "overcooked-ai " + version("overcooked-ai")
LAYOUT, RULES = "cramped_room", "overcooked-ai-1.1.0"
EPISODES, STEPS = 3, 400
SEATS = [0, 1]  # the seats that are compared
# For the 96 numbers, add "observation": ["features"], and take `OvercookedEnv.from_mdp(mdp).featurize_state_mdp(state)`.
PARAMS = {"rules": RULES, "layout": LAYOUT, "horizon": STEPS}
EPISODE_PARAMS = []

mdp = OvercookedGridworld.from_layout_name(LAYOUT)


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
