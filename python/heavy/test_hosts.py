"""Environments that weigh hundreds of megabytes, unmodified, through the host: `cargo xtask hosts`."""

import importlib.util
import random
import struct
from pathlib import Path

import ale_py
import pytest

TESTS = Path(__file__).parents[1] / "tests" / "test_host.py"
spec = importlib.util.spec_from_file_location("test_host", TESTS)
hosting = importlib.util.module_from_spec(spec)
spec.loader.exec_module(hosting)

ROMS = str(Path(ale_py.__file__).parent / "roms")


@pytest.fixture
def host():
    opened = []

    def start(**world):
        opened.append(hosting.Host(folder=str(Path(__file__).parent), **world))
        return opened[-1]

    yield start
    for each in opened:
        each.close()


def episode(game, steps):
    """The steps of random play, and the last picture."""
    chosen = random.Random(5)
    shown = [game.reset(3)]
    for _ in range(steps):
        names = [chosen.choice(game.actions) for _ in range(game.seats)]
        shown.append(game.step(*names))
    return shown, game.picture()


def check(start, size, steps=60, **world):
    """Plays a world twice in two processes: equal steps, and a picture of the right size."""
    one, two = start(**world), start(**world)
    (shown, (kind, body)), again = episode(one, steps), episode(two, steps)
    assert (shown, (kind, body)) == again
    assert kind == hosting.PIXELS and struct.unpack_from("<II", body) == size
    assert len({str(step["hashes"]) for step in shown}) > steps // 6
    return one


def test_one_person_plays_atari_frame_by_frame(host):
    kwargs = {"frameskip": 1, "repeat_action_probability": 0.25}
    pong = check(host, (160, 210), gymnasium="ALE/Pong-v5", tick_hz=60, kwargs=kwargs)
    assert pong.seats == 1 and pong.spec["tick_hz"] == 60
    assert pong.actions == ["noop", "fire", "right", "left", "rightfire", "leftfire"]
    assert pong.spec["actions"][4]["keys"] == ["ArrowRight+Space"]


def test_two_play_atari(host):
    pong = check(host, (160, 210), pettingzoo="atari/pong_v3", tick_hz=60, kwargs={"auto_rom_install_path": ROMS})
    assert pong.facts["agents"] == ["first_0", "second_0"]
    assert pong.actions == ["noop", "fire", "right", "left", "rightfire", "leftfire"]


@pytest.mark.parametrize(("name", "actions", "size"), [("Classic-", 17, (63, 63)), ("", 43, (110, 130))])
def test_craftax_is_stepped_and_drawn(host, name, actions, size):
    world = f"jax_worlds.py:craftax_{'classic' if name else 'full'}"
    craftax = check(host, size, python=world, picture=f"{world}_picture", tick_hz=0)
    assert len(craftax.actions) == actions


def test_craftax_in_pixels_shows_what_is_observed(host):
    craftax = host(python="jax_worlds.py:craftax_pixels", tick_hz=0)
    craftax.reset(1)
    kind, body = craftax.picture()
    width, height = struct.unpack_from("<II", body)
    assert kind == hosting.PIXELS and len(craftax.observe()) == width * height * 3


def test_xland_is_stepped_and_drawn(host):
    xland = check(host, (256, 256), python="jax_worlds.py:xland", tick_hz=0)
    assert len(xland.actions) == 6
