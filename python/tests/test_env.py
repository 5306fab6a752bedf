"""`coplay.make`: one seat as a Gymnasium environment."""

import copy
import pickle
import warnings

import coplay
import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env


def play(env, steps, seed=0):
    """The rewards and observations of random actions."""
    choose = np.random.default_rng(seed)
    rows = []
    for _ in range(steps):
        observation, reward, terminated, truncated, _ = env.step(choose.integers(env.action_space.n))
        rows.append((observation, reward))
        if terminated or truncated:
            env.reset()
    return rows


def same(left, right):
    """Returns whether two plays are equal to the bit."""
    return all(
        a[1] == b[1] and np.array_equal(a[0], b[0]) for a, b in zip(left, right, strict=True)
    )


@pytest.mark.parametrize("id", coplay.environments())
def test_gymnasium_accepts_every_environment(id):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # Observations that no byte holds have no bounds to tell.
        warnings.filterwarnings("ignore", message=".*A Box observation space m.*infinity.*")
        check_env(gymnasium.make(f"coplay/{id}").unwrapped)


def test_the_registry_passes_parameters_on():
    env = gymnasium.make("coplay/overcooked", layout="coordination_ring", horizon=7, seat=1)
    assert env.unwrapped.world_spec.horizon == 7
    assert env.unwrapped.seat == 1
    assert env.unwrapped.spec.id == "coplay/overcooked"


def test_an_episode_ends_at_its_horizon_and_wants_a_reset():
    env = coplay.make("overcooked", horizon=3)
    with pytest.raises(ResetNeeded, match="before the first"):
        env.step(0)
    env.reset(seed=1)
    ends = [env.step(env.world_spec.noop)[2:4] for _ in range(3)]
    assert ends == [(False, False), (False, False), (False, True)]
    with pytest.raises(ResetNeeded, match="is over"):
        env.step(0)


def test_seeds_follow_gymnasium():
    env, other = coplay.make("overcooked", horizon=20), coplay.make("overcooked", horizon=20)
    first = [env.reset(seed=5)[0], env.reset()[0], env.reset()[0]]
    again = [other.reset(seed=5)[0], other.reset()[0], other.reset()[0]]
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert env.episode_seed == other.episode_seed != 5
    drawn = set()
    for _ in range(4):
        env = coplay.make("overcooked")
        env.reset()
        drawn.add(env.episode_seed)
    assert len(drawn) == 4, "without a seed, episodes differ from process to process"
    with pytest.raises(ValueError, match=r"seed: must be 0 to 2\*\*64"):
        env.reset(seed=2**64)


def test_an_episode_seed_plays_the_episode_again():
    env = coplay.make("overcooked", partners="random", horizon=50)
    env.reset(seed=5)
    env.reset()
    once = play(env, 49)
    env.reset(seed=env.episode_seed)
    assert same(once, play(env, 49))


@pytest.mark.parametrize("partners", ["idle", "random", "cook"])
def test_a_state_plays_on_as_if_nothing_had_happened(partners):
    env = coplay.make("overcooked", partners=partners, horizon=60)
    env.reset(seed=3)
    play(env, 30)
    state = env.get_state()
    # Past the end, so that the stream of seeds is in it as well.
    once = play(env, 90)
    env.set_state(state)
    assert same(once, play(env, 90))
    other = coplay.make("overcooked", partners=partners, horizon=60)
    other.set_state(state)
    assert same(once, play(other, 90))


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_copies_play_on_apart(duplicate):
    env = coplay.make("overcooked", partners="cook", layout="forced_coordination", seat=1)
    env.reset(seed=3)
    play(env, 30)
    other = duplicate(env)
    assert same(play(env, 50), play(other, 50))
    assert other.world_spec == env.world_spec
    fresh = duplicate(coplay.make("overcooked"))
    with pytest.raises(ResetNeeded):
        fresh.step(0)


def test_a_foreign_state_is_refused_and_changes_nothing():
    env = coplay.make("overcooked", partners="cook")
    env.reset(seed=3)
    before = env.get_state()
    for wrong in [b"", b"abc", before[:-1], before + b"x"]:
        with pytest.raises(ValueError, match="not a state"):
            env.set_state(wrong)
    assert env.get_state() == before
    random = coplay.make("overcooked", partners="random")
    with pytest.raises(ValueError, match="not a state"):
        env.set_state(random.get_state())
    assert env.get_state() == before


def test_a_partner_may_be_a_function_of_what_its_seat_observes():
    seen = []

    def partner(observation):
        seen.append(observation)
        return 6

    env = coplay.make("overcooked", partners=[partner])
    named = coplay.make("overcooked", partners="idle")
    other = coplay.make("overcooked", seat=1)
    env.reset(seed=1)
    named.reset(seed=1)
    assert same(play(env, 5), play(named, 5))
    assert len(seen) == 5
    assert np.array_equal(seen[0], other.reset(seed=1)[0])


def test_a_cook_scores_beside_an_idle_learner():
    scores = []
    for partner in ["cook", "idle"]:
        env = coplay.make("overcooked", partners=partner, layout="counter_circuit", horizon=900)
        env.reset(seed=1)
        for _ in range(899):
            info = env.step(env.world_spec.noop)[4]
        scores.append(info["score"])
    assert scores[0] > 0 == scores[1]


def test_info_has_the_mask_the_events_and_the_score():
    env = coplay.make("overcooked", rules="cogrid-0.3.2")
    _, info = env.reset(seed=1)
    assert info["action_mask"].dtype == np.int8
    assert info["action_mask"].shape == (len(env.action_names),)
    assert info["action_mask"][env.world_spec.noop] == 1
    assert np.array_equal(env.action_masks(), info["action_mask"].astype(bool))
    assert info["events"].shape == (len(env.event_names),)
    assert env.action_space.sample(mask=info["action_mask"]) in env.action_space


def test_fields_are_views_of_the_observation():
    env = coplay.make("overcooked")
    observation, _ = env.reset(seed=1)
    fields = env.observation_fields
    assert fields[0].start == 0
    assert fields[-1].slice.stop == len(observation)
    for field in fields:
        part = field.of(observation)
        assert part.shape == field.shape
        assert np.shares_memory(part, observation)
    batch = np.stack([observation, observation])
    assert fields[0].of(batch).shape == (2, *fields[0].shape)


def test_words_tell_the_state():
    env = coplay.make("overcooked")
    env.reset(seed=1)
    assert env.describe(0) != env.describe(1)
    assert env.digest() == env.digest()
    with pytest.raises(ValueError, match="no seat 2; `overcooked` has seats 0 to 1"):
        env.describe(2)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"id": "overcoked"}, "environment: there is no environment `overcoked`"),
        ({"id": "overcooked", "layuot": "x"}, "layuot"),
        ({"id": "overcooked", "layout": "cramped"}, "layout"),
        ({"id": "overcooked", "horizon": 0}, "horizon: must be 1 to"),
        ({"id": "overcooked", "horizon": object()}, "is no JSON value"),
        ({"id": "overcooked", "seat": 2}, "seat: there is no seat 2"),
        ({"id": "overcooked", "partners": "chef"}, "no partner `chef`; there is: cook, idle"),
        ({"id": "overcooked", "partners": ["cook", "cook"]}, "2 are given for 1 other"),
        ({"id": "overcooked", "render_mode": "ansi"}, "render_mode: there is no mode 'ansi'"),
    ],
)
def test_bad_arguments_are_refused_with_the_field_and_the_mend(arguments, words):
    with pytest.raises(ValueError, match=words):
        coplay.make(**arguments)


@pytest.mark.parametrize("action", [7, -1, 1.5, "up", None])
def test_bad_actions_are_refused(action):
    env = coplay.make("overcooked")
    env.reset(seed=1)
    before = env.get_state()
    with pytest.raises(ValueError, match="actions: "):
        env.step(action)
    assert env.get_state() == before


def test_schemas_list_the_parameters():
    for id in coplay.environments():
        assert coplay.params_schema(id)["type"] == "object"
    assert "layout" in coplay.params_schema("overcooked")["properties"]
    assert "cook" in coplay.partners()
