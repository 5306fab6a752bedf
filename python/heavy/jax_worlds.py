"""Craftax and XLand-MiniGrid from their packages, as a researcher writes them into a file."""

import xminigrid
from craftax.craftax.renderer import render_craftax_pixels
from craftax.craftax_classic.renderer import render_craftax_pixels as render_classic_pixels
from craftax.craftax_env import make_craftax_env_from_name


def craftax_classic():
    return make_craftax_env_from_name("Craftax-Classic-Symbolic-v1", auto_reset=False)


def craftax_classic_picture(state):
    return render_classic_pixels(state, 7)


def craftax_full():
    return make_craftax_env_from_name("Craftax-Symbolic-v1", auto_reset=False)


def craftax_full_picture(state):
    return render_craftax_pixels(state, 10)


def craftax_pixels():
    return make_craftax_env_from_name("Craftax-Classic-Pixels-v1", auto_reset=False)


def xland():
    return xminigrid.make("MiniGrid-Empty-8x8")
