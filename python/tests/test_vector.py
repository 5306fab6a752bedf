"""`coplay.make_vec`: thousands of instances as a Gymnasium vector environment."""

import copy
import pickle
import threading
import time

import coplay
import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers.vector import DictInfoToList, RecordEpisodeStatistics


def singles(count, **arguments):
    """As many single environments, for comparison."""
    return [coplay.make("overcooked", **arguments) for _ in range(count)]


def actions(generator, env):
    """Random actions for a batch."""
    return generator.integers(env.single_action_space.n, size=env.num_envs)


@pytest.mark.parametrize("partners", ["idle", "random", "cook"])
@pytest.mark.parametrize("observation", ["float32", "compact"])
@pytest.mark.parametrize(("threads", "instances"), [(1, 5), (3, 130)])
def test_a_batch_equals_single_environments_bit_for_bit(
    partners, observation, threads, instances
):
    arguments = {"partners": partners, "seat": 1, "horizon": 40, "layout": "coordination_ring"}
    batch = coplay.make_vec(
        "overcooked", instances, observation=observation, threads=threads, **arguments
    )
    alone = singles(instances, **arguments)
    seen, infos = batch.reset(seed=11)
    assert batch.threads == threads
    for index, env in enumerate(alone):
        observation_alone, info = env.reset(seed=11 + index)
        assert np.array_equal(seen[index], observation_alone)
        assert np.array_equal(infos["action_mask"][index], info["action_mask"])
    choose = np.random.default_rng(0)
    over = [False] * instances
    for _ in range(130):
        chosen = actions(choose, batch)
        seen, rewards, terminated, truncated, infos = batch.step(chosen)
        for index, env in enumerate(alone):
            if over[index]:
                result = (*env.reset(), False)
                result = (result[0], 0.0, False, False, result[1])
            else:
                result = env.step(chosen[index])
            over[index] = result[2] or result[3]
            assert np.array_equal(seen[index], result[0])
            assert (rewards[index], terminated[index], truncated[index]) == result[1:4]
            assert np.array_equal(infos["action_mask"][index], result[4]["action_mask"])
            assert np.array_equal(infos["events"][index], result[4]["events"])
            assert infos["episode_return"][index] == np.float32(env._world.returns[1])
            assert infos["episode_length"][index] == env._world.length


def test_all_seats_are_played_as_in_the_parallel_environment():
    batch = coplay.make_vec("overcooked", 3, seat="all", horizon=30)
    assert batch.num_envs == 6
    alone = [coplay.parallel_env("overcooked", horizon=30) for _ in range(3)]
    seen, _ = batch.reset(seed=[4, 9, 2])
    for env, seed, rows in zip(alone, [4, 9, 2], batch.by_instance(seen), strict=True):
        assert np.array_equal(np.stack(list(env.reset(seed=seed)[0].values())), rows)
    choose = np.random.default_rng(0)
    for _ in range(30):
        chosen = actions(choose, batch)
        seen, rewards, _, truncated, _ = batch.step(chosen)
        for index, env in enumerate(alone):
            pair = dict(zip(env.agents, chosen[2 * index :][:2], strict=True))
            result = env.step(pair)
            assert np.array_equal(np.stack(list(result[0].values())), batch.by_instance(seen)[index])
            assert list(result[1].values()) == batch.by_instance(rewards)[index].tolist()
    assert truncated.all()


def test_same_step_gives_what_was_observed_last():
    batch = coplay.make_vec("overcooked", 3, seat="all", horizon=4, autoreset="same_step")
    plain = coplay.make_vec("overcooked", 3, seat="all", horizon=4, autoreset="next_step")
    batch.reset(seed=1)
    plain.reset(seed=1)
    noop = np.full(6, batch.world_spec.noop)
    for _ in range(3):
        assert "final_obs" not in batch.step(noop)[4]
        plain.step(noop)
    first, *_, truncated, infos = batch.step(noop)
    last = plain.step(noop)[0]
    assert truncated.all()
    assert np.array_equal(infos["final_obs"], last)
    assert infos["_final_obs"].all()
    assert infos["final_info"]["episode_length"].tolist() == [4] * 6
    assert np.array_equal(first, plain.step(noop)[0])
    assert "final_obs" not in batch.step(noop)[4]


def test_disabled_waits_for_a_reset_of_those_that_are_over():
    batch = coplay.make_vec("overcooked", 3, horizon=4, autoreset="disabled")
    batch.reset(seed=1)
    noop = np.full(3, batch.world_spec.noop)
    for _ in range(4):
        *_, truncated, infos = batch.step(noop)
    assert truncated.all()
    seen, infos = batch.reset(
        seed=[7, None, None], options={"reset_mask": np.array([True, False, False])}
    )
    assert infos["episode_length"].tolist() == [0, 4, 4]
    assert np.array_equal(seen[0], coplay.make("overcooked").reset(seed=7)[0])
    with pytest.raises(ValueError, match="reset_mask"):
        batch.reset(options={"reset_mask": np.zeros(2, bool)})


@pytest.mark.parametrize(
    ("name", "mode"),
    [
        ("next_step", AutoresetMode.NEXT_STEP),
        ("same_step", AutoresetMode.SAME_STEP),
        ("disabled", AutoresetMode.DISABLED),
    ],
)
def test_the_mode_is_in_the_metadata(name, mode):
    assert coplay.make_vec("overcooked", 2, autoreset=name).metadata["autoreset_mode"] is mode


@pytest.mark.parametrize("id", coplay.environments())
def test_spaces_contain_what_is_returned(id):
    for observation in ["float32", "compact"]:
        if observation == "compact" and not coplay.make(id).world_spec.compact:
            continue
        batch = gymnasium.make_vec(f"coplay/{id}", num_envs=4, observation=observation)
        seen, _ = batch.reset(seed=0)
        assert batch.observation_space.contains(seen)
        batch.action_space.seed(0)
        for _ in range(50):
            seen, rewards, terminated, truncated, infos = batch.step(batch.action_space.sample())
            assert batch.observation_space.contains(seen)
        for array in (rewards, terminated, truncated):
            assert array.shape == (4,)
        assert terminated.dtype == truncated.dtype == np.bool_
        for key in [key for key in infos if not key.startswith("_")]:
            assert len(infos[key]) == 4
            assert infos[f"_{key}"].all()


def test_gymnasium_wrappers_take_it():
    batch = RecordEpisodeStatistics(coplay.make_vec("overcooked", 3, horizon=5))
    batch = DictInfoToList(batch)
    batch.reset(seed=1)
    for _ in range(5):
        *_, infos = batch.step(batch.action_space.sample())
    assert [info["episode"]["l"] for info in infos] == [5, 5, 5]


def test_the_arrays_are_the_memory_that_the_next_step_writes():
    batch = coplay.make_vec("overcooked", 3, partners="random")
    seen, infos = batch.reset(seed=1)
    before = seen.copy()
    for _ in range(10):
        again, *_, more = batch.step(np.full(3, 2))
    assert np.shares_memory(seen, again)
    assert np.shares_memory(infos["action_mask"], more["action_mask"])
    assert not np.array_equal(before, seen)
    with pytest.raises(ValueError, match="read-only"):
        seen[0] = 0
    own = coplay.make_vec("overcooked", 3, partners="random", copy=True)
    seen, _ = own.reset(seed=1)
    again, *_ = own.step(np.full(3, 2))
    assert not np.shares_memory(seen, again)
    assert np.array_equal(seen, before)
    again[0] = 0


def test_seeds_go_on_with_each_stream():
    batch, alone = coplay.make_vec("overcooked", 2), singles(2)
    batch.reset(seed=[3, 8])
    alone[0].reset(seed=3)
    alone[1].reset(seed=8)
    for _ in range(3):
        seen, _ = batch.reset()
        assert np.array_equal(seen[0], alone[0].reset()[0])
        assert np.array_equal(seen[1], alone[1].reset()[0])
    firsts = [coplay.make_vec("overcooked", 2) for _ in range(2)]
    drawn = [env.reset()[0].copy() for env in firsts]
    states = [env.get_state() for env in firsts]
    assert states[0] != states[1], "without a seed, episodes differ from process to process"
    assert drawn[0].shape == drawn[1].shape
    with pytest.raises(ValueError, match="seed: 3 are given for 2 instances"):
        batch.reset(seed=[1, 2, 3])


@pytest.mark.parametrize("partners", ["idle", "cook"])
@pytest.mark.parametrize(
    "duplicate", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))]
)
def test_states_and_copies_play_on_alike(partners, duplicate):
    batch = coplay.make_vec("overcooked", 3, partners=partners, horizon=25)
    batch.reset(seed=1)
    choose = np.random.default_rng(0)
    for _ in range(40):
        batch.step(actions(choose, batch))
    alone = coplay.make("overcooked", partners=partners, horizon=25)
    alone.set_state(batch.get_state()[1])
    other = duplicate(batch)
    for _ in range(8):
        chosen = actions(choose, batch)
        one, two = batch.step(chosen), other.step(chosen)
        assert all(np.array_equal(a, b) for a, b in zip(one[:4], two[:4], strict=True))
        assert np.array_equal(alone.step(chosen[1])[0], one[0][1])


def test_a_foreign_state_is_refused_and_changes_nothing():
    batch = coplay.make_vec("overcooked", 2, partners="cook")
    batch.reset(seed=1)
    before = batch.get_state()
    with pytest.raises(ValueError, match="not a state"):
        batch.set_state([before[0][:-1], before[1]])
    assert batch.get_state() == before
    with pytest.raises(ValueError, match="1 states are given for 2 instances"):
        batch.set_state(before[:1])


@pytest.mark.parametrize(
    ("chosen", "words"),
    [
        (np.array([0, 9]), r"actions\[1\]: there is no action 9; the actions are 0 \(move_up\)"),
        (np.array([0, -1]), r"actions\[1\]: there is no action -1"),
        (np.array([0, 1, 2]), r"must be 2 whole numbers, not int64 \(3,\)"),
        (np.array([0.0, 1.0]), "must be 2 whole numbers, not float64"),
    ],
)
def test_bad_actions_are_refused_and_nothing_is_stepped(chosen, words):
    batch = coplay.make_vec("overcooked", 2)
    with pytest.raises(ResetNeeded):
        batch.step(np.zeros(2, int))
    batch.reset(seed=1)
    before = batch.get_state()
    with pytest.raises(ValueError, match=words):
        batch.step(chosen)
    assert batch.get_state() == before


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"num_envs": 0}, "num_envs: must be at least 1"),
        ({"autoreset": "sometimes"}, "autoreset"),
        ({"observation": "int8"}, "observation: there is no form 'int8'"),
        ({"threads": 100000}, "threads"),
        ({"seat": "both"}, "seat: there is no seat 'both'"),
        ({"seat": 5}, "seat: there is no seat 5"),
        ({"seat": "all", "partners": "cook"}, "plays every seat"),
        ({"partners": [print]}, "is no name; a batch takes cook"),
        ({"horizon": 0}, "horizon"),
    ],
)
def test_bad_arguments_are_refused(arguments, words):
    with pytest.raises(ValueError, match=words):
        coplay.make_vec(**({"id": "overcooked", "num_envs": 2} | arguments))


def test_a_step_lets_other_threads_run():
    wanted = 300
    batch = coplay.make_vec("overcooked", 32768, seat="all", threads=1)
    batch.reset(seed=0)
    chosen = np.zeros(batch.num_envs, int)
    stepping, done = [0], threading.Event()

    def work():
        step = 0
        while not done.is_set():
            step += 1
            stepping[0] = step
            batch.step(chosen)
            stepping[0] = 0

    worker = threading.Thread(target=work)
    worker.start()
    # With the lock held through each step, this thread gets to run a few dozen times until the other has the lock.
    turns, last, late = 0, 0, time.monotonic() + 60
    while turns < wanted and time.monotonic() < late:
        now = stepping[0]
        turns = turns + 1 if now and now == last else 0
        last = now
        time.sleep(0)
    done.set()
    worker.join()
    assert turns == wanted, "this many turns within one step"
