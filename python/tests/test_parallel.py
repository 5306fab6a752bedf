"""`coplay.parallel_env`: all seats as a PettingZoo environment."""

import copy
import pickle

import coplay
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from pettingzoo.test import parallel_api_test, parallel_seed_test


@pytest.mark.parametrize("id", coplay.environments())
def test_pettingzoo_accepts_every_environment(id):
    parallel_api_test(coplay.parallel_env(id, horizon=40), num_cycles=200)


@pytest.mark.parametrize("id", coplay.environments())
def test_pettingzoo_finds_the_seeds_in_order(id):
    parallel_seed_test(lambda: coplay.parallel_env(id), num_cycles=100)


def test_it_plays_what_the_single_seat_plays():
    parallel = coplay.parallel_env("overcooked", horizon=200)
    single = coplay.make("overcooked", partners=[lambda seen: 3], horizon=200)
    seen, _ = parallel.reset(seed=9)
    assert np.array_equal(single.reset(seed=9)[0], seen["seat_0"])
    choose = np.random.default_rng(1)
    for _ in range(200):
        action = choose.integers(7)
        seen, rewards, terminated, truncated, infos = parallel.step(
            {"seat_0": action, "seat_1": 3}
        )
        observation, reward, *ends, info = single.step(action)
        assert np.array_equal(observation, seen["seat_0"])
        assert reward == rewards["seat_0"]
        assert ends == [terminated["seat_0"], truncated["seat_0"]]
        assert np.array_equal(info["action_mask"], infos["seat_0"]["action_mask"])
        assert np.array_equal(info["events"], infos["seat_0"]["events"])
    assert parallel.agents == []
    assert parallel.step({}) == ({}, {}, {}, {}, {})


def test_state_is_what_all_seats_observe():
    env = coplay.parallel_env("overcooked")
    seen, _ = env.reset(seed=9)
    assert np.array_equal(env.state(), np.concatenate([seen["seat_0"], seen["seat_1"]]))
    assert env.state_space.contains(env.state())


def test_bad_actions_are_refused():
    env = coplay.parallel_env("overcooked")
    with pytest.raises(ResetNeeded):
        env.step({"seat_0": 0, "seat_1": 0})
    env.reset(seed=1)
    with pytest.raises(ValueError, match="none is given for 'seat_1'"):
        env.step({"seat_0": 0})
    with pytest.raises(ValueError, match="no agent 'cook'; there is: seat_0, seat_1"):
        env.step({"seat_0": 0, "seat_1": 0, "cook": 0})
    with pytest.raises(ValueError, match=r"no action 9 for seat 1; the actions are 0 \(move_up\)"):
        env.step({"seat_0": 0, "seat_1": 9})


@pytest.mark.parametrize(
    "duplicate", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))]
)
def test_states_and_copies_play_on_alike(duplicate):
    env = coplay.parallel_env("overcooked", horizon=30)
    env.reset(seed=1)
    for _ in range(10):
        env.step({agent: 2 for agent in env.agents})
    state, other = env.get_state(), duplicate(env)
    again = coplay.parallel_env("overcooked", horizon=30)
    again.set_state(state)
    while env.agents:
        actions = {agent: 4 for agent in env.agents}
        results = [one.step(actions) for one in (env, other, again)]
        for result in results[1:]:
            assert np.array_equal(results[0][0]["seat_1"], result[0]["seat_1"])
            assert results[0][1:4] == result[1:4]
    first = [one.reset()[0]["seat_0"] for one in (env, other, again)]
    assert np.array_equal(first[0], first[1])
    assert np.array_equal(first[0], first[2])
