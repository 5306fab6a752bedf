"""Pictures: arrays, SVG, and a window."""

import sys
import xml.etree.ElementTree as ElementTree

import coplay
import numpy as np
import pytest
from gymnasium.error import DependencyNotInstalled


@pytest.mark.parametrize("id", coplay.environments())
def test_a_picture_is_an_array_of_pixels(id):
    with coplay.make(id, render_mode="rgb_array") as env:
        env.reset(seed=1)
        picture = env.render()
        assert picture.dtype == np.uint8
        assert picture.ndim == 3
        assert picture.shape[2] == 3
        assert len(np.unique(picture.reshape(-1, 3), axis=0)) > 3
        small = env.pixels(scale=16)
        assert small.shape[0] * 3 == picture.shape[0]


def test_a_step_changes_the_picture():
    env = coplay.make("overcooked", render_mode="rgb_array", partners="random")
    env.reset(seed=1)
    before = env.render()
    for _ in range(20):
        env.step(env.world_spec.noop)
    assert not np.array_equal(before, env.render())


def test_an_svg_document_is_well_formed():
    env = coplay.make("overcooked")
    env.reset(seed=1)
    assert ElementTree.fromstring(env.svg()).tag.endswith("svg")


def test_without_a_mode_there_is_no_picture():
    env = coplay.make("overcooked")
    env.reset(seed=1)
    with pytest.warns(UserWarning, match="without a render_mode"):
        assert env.render() is None


def test_a_window_opens_and_closes():
    pytest.importorskip("pygame")
    import pygame

    with coplay.make("overcooked", render_mode="human", tick_hz=60) as env:
        env.reset(seed=1)
        env.step(0)
        assert pygame.display.get_surface().get_size()[0] > 100
    assert not pygame.display.get_init()
    env.close()


def test_a_window_without_pygame_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pygame", None)
    with pytest.raises(DependencyNotInstalled, match="pip install pygame"):
        coplay.make("overcooked", render_mode="human")


def test_all_seats_and_batches_are_drawn_alike():
    env = coplay.make("overcooked", render_mode="rgb_array")
    env.reset(seed=4)
    parallel = coplay.parallel_env("overcooked", render_mode="rgb_array")
    parallel.reset(seed=4)
    batch = coplay.make_vec("overcooked", 2, render_mode="rgb_array")
    batch.reset(seed=4)
    frames = batch.render()
    assert len(frames) == 2
    assert np.array_equal(env.render(), parallel.render())
    assert np.array_equal(env.render(), frames[0])
    env.reset(seed=5)
    assert np.array_equal(env.render(), frames[1])
