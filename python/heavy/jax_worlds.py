"""Craftax and XLand-MiniGrid from their packages, as a researcher writes them into a file."""

import functools

import jax
import xminigrid
from craftax.craftax import renderer
from craftax.craftax_classic import renderer as classic_renderer
from craftax.craftax_env import make_craftax_env_from_name


@functools.cache
def compiled(module, size):
    return jax.jit(module.make_craftax_pixel_renderer(size))


def craftax_classic():
    return make_craftax_env_from_name("Craftax-Classic-Symbolic-v1", auto_reset=False)


def craftax_classic_picture(state):
    return compiled(classic_renderer, 7)(state)


def craftax_full():
    return make_craftax_env_from_name("Craftax-Symbolic-v1", auto_reset=False)


def craftax_full_picture(state):
    return compiled(renderer, 10)(state)


def craftax_pixels():
    return make_craftax_env_from_name("Craftax-Classic-Pixels-v1", auto_reset=False)


def xland():
    return xminigrid.make("MiniGrid-Empty-8x8")
