"""Values of an environment by seat: scores, turns, events, parts of rewards, ranges, points and pictures."""

import os
from pathlib import Path

import coplay
import numpy as np
import pytest


@pytest.fixture
def module():
    """The path of a module of `examples/environments` by its name."""
    folder = os.environ.get("COPLAY_MODULES")
    if folder is None:
        pytest.skip("COPLAY_MODULES names no folder of modules")
    return lambda name: Path(folder) / f"{name}.wasm"


def test_seats_of_a_module_have_their_own_scores_and_parts_of_rewards(module):
    env = coplay.parallel_env(module("public_goods"), seats=3, factor=1.5)
    _, infos = env.reset(seed=1)
    assert [info["seat_score"] for info in infos.values()] == [0, 0, 0]
    assert not any(info["reward_components"].any() for info in infos.values())
    _, rewards, _, _, infos = env.step({"seat_0": 10, "seat_1": 0, "seat_2": 2})
    assert env.component_names == ("kept", "share")
    parts = [info["reward_components"].tolist() for info in infos.values()]
    assert parts == [[0.0, 6.0], [10.0, 6.0], [8.0, 6.0]]
    assert rewards == {"seat_0": 6.0, "seat_1": 16.0, "seat_2": 14.0}
    assert [info["seat_score"] for info in infos.values()] == [6, 16, 14]
    assert [env.seat_score(seat) for seat in range(3)] == [6, 16, 14]
    assert {info["score"] for info in infos.values()} == {36}
    assert env.acting == (0, 1, 2)
    assert all(info["acting"] for info in infos.values())


def test_events_say_who_did_something_to_whom(module):
    env = coplay.make(module("matrix_game"), partners=lambda seen: 2)
    env.reset(seed=1)
    assert env.step_events == []
    env.step(1)
    assert env.step_events == [coplay.Event("chose", 0, 1, 1.0), coplay.Event("chose", 1, 0, 2.0)]
    env.reset(seed=1)
    assert env.step_events == [], "an episode begins with nothing"


def test_ranges_are_those_of_the_spaces(module):
    env = coplay.make(module("matrix_game"), rounds=7)
    low, high = env.observation_space.low, env.observation_space.high
    chosen, earned, left = (field.slice for field in env.observation_fields)
    assert (low[chosen] == 0).all() and (high[chosen] == 2).all()
    assert np.isinf(low[earned]).all() and np.isinf(high[earned]).all()
    assert high[left] == 7
    assert env.world_spec.reward_range == (0.0, 5.0)
    assert env.observation_fields[0].range == (0.0, 2.0)


def test_a_point_means_an_action(module):
    env = coplay.make(module("matrix_game"))
    env.reset(seed=1)
    assert env.world_spec.pointer
    assert [env.point(1.0, y) for y in (0.2, 1.5, 2.5)] == [None, 1, 2]
    with pytest.raises(ValueError, match="there is no seat 2"):
        env.point(0, 0, seat=2)


def test_a_seat_sees_its_own_picture():
    env = coplay.make("overcooked_v2", render_mode="rgb_array", view_radius=1)
    env.reset(seed=1)
    assert not env.world_spec.perfect_information
    whole, first, second = env.pixels(), env.pixels(seat=0), env.pixels(seat=1)
    assert whole.shape == first.shape == second.shape
    assert not np.array_equal(first, second), "the fog is elsewhere"
    assert not np.array_equal(whole, first)
    assert env.svg(seat=0) != env.svg(seat=1)
    with pytest.raises(ValueError, match="there is no seat 2"):
        env.pixels(seat=2)


@pytest.mark.parametrize("id", coplay.environments())
def test_the_parts_of_rewards_add_up(id):
    env = coplay.parallel_env(id, horizon=300)
    _, infos = env.reset(seed=3)
    choose = np.random.default_rng(3)
    earned = 0
    while env.agents:
        actions = {
            agent: choose.choice(np.flatnonzero(infos[agent]["action_mask"])) for agent in env.agents
        }
        _, rewards, _, _, infos = env.step(actions)
        for agent, reward in rewards.items():
            earned += reward != 0
            assert infos[agent]["reward_components"].sum() == pytest.approx(reward, abs=1e-4)
    assert earned or id.startswith("overcooked"), "random steps earn something"
