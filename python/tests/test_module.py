"""Modules of others, in all three APIs: those that behave, and those that do not."""

import os
from pathlib import Path

import coplay
import numpy as np
import pytest


@pytest.fixture
def module():
    """A module of an environment that comes with the package, for comparison."""
    folder = os.environ.get("COPLAY_MODULES")
    if folder is None:
        pytest.skip("COPLAY_MODULES names no folder of modules")
    return Path(folder) / "overcooked.wasm"


@pytest.fixture
def broken(module, tmp_path):
    """The same, with a step that traps."""
    path = tmp_path / "broken.wasm"
    path.write_bytes(trapping(module.read_bytes(), b"coplay_step"))
    return path


def number(code, at):
    """Reads an unsigned LEB128 number; gives it and the place behind it."""
    value = shift = 0
    while True:
        byte = code[at]
        value, shift, at = value | (byte & 127) << shift, shift + 7, at + 1
        if byte < 128:
            return value, at


def trapping(code, name):
    """Puts `unreachable` in front of the body of an exported function."""
    sections, at = {}, 8
    while at < len(code):
        length, start = number(code, at + 1)
        sections[code[at]], at = start, start + length
    count, at = number(code, sections[7])
    for _ in range(count):
        length, at = number(code, at)
        export, (index, after) = code[at : at + length], number(code, at + length + 1)
        at = after
        if export == name:
            break
    _, at = number(code, sections[10])
    for _ in range(index):
        length, at = number(code, at)
        at += length
    _, at = number(code, at)
    groups, at = number(code, at)
    for _ in range(groups):
        at = number(code, at)[1] + 1
    # The first instruction has one number: `unreachable`, then `nop` for each byte of it.
    _, after = number(code, at + 1)
    return code[:at] + b"\x00" + b"\x01" * (after - at - 1) + code[after:]


def test_a_module_plays_what_its_native_twin_plays(module):
    env = coplay.make(module, horizon=30, layout="coordination_ring")
    twin = coplay.make("overcooked", horizon=30, layout="coordination_ring")
    if env.world_spec.version != twin.world_spec.version:
        pytest.fail("the modules are older than the package: `cargo xtask build`")
    assert env.world_spec == twin.world_spec
    assert np.array_equal(env.reset(seed=3)[0], twin.reset(seed=3)[0])
    choose = np.random.default_rng(0)
    for _ in range(30):
        action = choose.integers(7)
        one, two = env.step(action), twin.step(action)
        assert np.array_equal(one[0], two[0])
        assert one[1:4] == two[1:4]
    assert env.digest() == twin.digest()
    twin.set_state(env.get_state())
    assert np.array_equal(env.pixels(), twin.pixels())


def test_a_batch_of_modules_plays_what_a_native_batch_plays(module):
    batch = coplay.make_vec(module, 3, seat="all", horizon=20)
    native = coplay.make_vec("overcooked", 3, seat="all", horizon=20)
    assert np.array_equal(batch.reset(seed=3)[0], native.reset(seed=3)[0])
    choose = np.random.default_rng(0)
    for _ in range(50):
        chosen = choose.integers(7, size=6)
        for one, two in zip(batch.step(chosen)[:4], native.step(chosen)[:4], strict=True):
            assert np.array_equal(one, two)


def test_a_module_that_breaks_down_is_stopped(broken):
    env = coplay.make(broken)
    env.reset(seed=1)
    with pytest.raises(RuntimeError, match="the module was stopped"):
        env.step(0)
    parallel = coplay.parallel_env(broken)
    parallel.reset(seed=1)
    with pytest.raises(RuntimeError, match="the module was stopped"):
        parallel.step({"seat_0": 0, "seat_1": 0})
    batch = coplay.make_vec(broken, 2)
    batch.reset(seed=1)
    with pytest.raises(RuntimeError, match="the module was stopped: instance 0"):
        batch.step(np.zeros(2, int))


def test_what_is_no_module_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError):
        coplay.make(tmp_path / "absent.wasm")
    wrong = tmp_path / "wrong.wasm"
    wrong.write_bytes(b"not a module")
    with pytest.raises(ValueError, match="no WebAssembly module"):
        coplay.make(wrong)
    with pytest.raises(ValueError, match="no WebAssembly module"):
        coplay.make_vec(wrong, 2)
