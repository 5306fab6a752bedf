"""The cross-play matrix, held against episodes that are played one by one."""

import numpy as np
import pytest

import coplay
from coplay.evaluate import cross_play, interval, iqm

KITCHEN = {"layout": "cramped_room", "horizon": 200}


def test_a_pairing_is_what_episodes_one_by_one_make():
    result = cross_play("overcooked", {"cook": "cook", "idle": "idle"}, episodes=3, seed=5, **KITCHEN)
    (mixed,) = [it for it in result.pairings if it.agents == ("cook", "idle")]
    world = coplay._coplay.World("overcooked", coplay.spec.params_json(KITCHEN))
    cook = coplay._coplay.Partner("cook", world)
    for episode in range(3):
        world.reset(5 + episode)
        cook.reset(0, 5 + episode)
        actions = []
        while not world.over:
            actions.append(cook.act(world.observe(0)))
            world.step([actions[-1], 6])
        assert np.mean(world.returns) == pytest.approx(mixed.returns[episode])
        assert mixed.idle[episode].tolist() == [pytest.approx(np.mean(np.array(actions) == 6)), 1.0]
        assert mixed.lengths[episode] == 200


def test_two_cooks_make_more_than_one_and_the_matrix_is_symmetric():
    result = cross_play("overcooked", {"cook": "cook", "idle": "idle"}, episodes=4, **KITCHEN)
    both, one = result.matrix()[0]
    assert both > one > 0
    assert result.matrix()[1, 0] == one and result.matrix()[1, 1] == 0
    rows = {(row["agent"], row["partner"]): row for row in result.rows()}
    assert rows["idle", "cook"]["idle_share"] == 1.0 and rows["idle", "cook"]["action_diversity"] == 0.0
    assert 0.3 < rows["cook", "idle"]["action_diversity"] < 1
    assert rows["cook", "idle"]["episodes"] == 8 and rows["cook", "cook"]["episodes"] == 4


def test_proximity_is_one_for_the_best_response_itself():
    responses = {"idle": "cook"}
    result = cross_play(
        "overcooked", {"cook": "cook", "idle": "idle"}, episodes=4, best_responses=responses, **KITCHEN
    )
    assert result.best_response_proximity("cook") == pytest.approx(1.0, abs=0.05)
    assert result.best_response_proximity("idle") == 0.0


def test_the_mean_leaves_out_a_quarter_on_both_sides():
    assert iqm([0, 1, 2, 3, 4, 5, 6, 1000]) == 3.5
    low, high = interval([3.0] * 8)
    assert (low, high) == (3.0, 3.0)
    low, high = interval(np.arange(40.0))
    assert low < iqm(np.arange(40.0)) < high


def test_what_cannot_be_played_is_refused():
    with pytest.raises(ValueError, match="best_responses names"):
        cross_play("overcooked", {"cook": "cook"}, best_responses={"cook": "ppo"})
    with pytest.raises(ValueError, match="there is no partner `chef`"):
        cross_play("overcooked", {"a": "chef"}, episodes=1)
