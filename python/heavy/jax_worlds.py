"""Craftax and XLand-MiniGrid from their packages, as a researcher writes them into a file."""

import functools

import xminigrid
from craftax.craftax import renderer
from craftax.craftax_classic import renderer as classic_renderer
from craftax.craftax_env import make_craftax_env_from_name

render = functools.cache(renderer.make_craftax_pixel_renderer)
render_classic = functools.cache(classic_renderer.make_craftax_pixel_renderer)


def craftax_classic():
    return make_craftax_env_from_name("Craftax-Classic-Symbolic-v1", auto_reset=False)


def craftax_classic_picture(state):
    return render_classic(7)(state)


def craftax_full():
    return make_craftax_env_from_name("Craftax-Symbolic-v1", auto_reset=False)


def craftax_full_picture(state):
    return render(10)(state)


def craftax_pixels():
    return make_craftax_env_from_name("Craftax-Classic-Pixels-v1", auto_reset=False)


def xland():
    return xminigrid.make("MiniGrid-Empty-8x8")
