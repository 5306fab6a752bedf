"""The cross-play matrix, held against episodes that are played one by one."""

from pathlib import Path

import numpy as np
import pytest

import coplay
from coplay._played import PEOPLE, _name_agent, read_played
from coplay.evaluate import cross_play, interval, iqm

KITCHEN = {"layout": "cramped_room", "horizon": 200}
TRIALS = Path(__file__).parent / "trials" / "of_2019.csv"


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


def test_what_nobody_could_have_done_alone_is_interdependence():
    kitchen = {"layout": "forced_coordination", "horizon": 300}
    result = cross_play("overcooked", {"cook": "cook", "idle": "idle"}, episodes=2, **kitchen)
    (both,) = [it for it in result.pairings if it.agents == ("cook", "cook")]
    # The pot's seat has all events. Three onions and the plate of each soup come from the other one; that a soup is
    # delivered relies on taking it out of the pot, which is the agent's own action.
    low, high = sorted(both.interdependence.mean(axis=0))
    assert low == 0 and 0.75 < high <= 0.85, both.interdependence
    (alone,) = [it for it in result.pairings if it.agents == ("idle", "idle")]
    assert not alone.interdependence.any()
    row = next(it for it in result.rows() if (it["agent"], it["partner"]) == ("cook", "cook"))
    assert row["interdependence"] == pytest.approx((low + high) / 2)


def test_a_cook_beside_nobody_relies_on_nobody():
    result = cross_play("overcooked", {"cook": "cook", "idle": "idle"}, episodes=2, **KITCHEN)
    assert all(not it.interdependence.any() for it in result.pairings if "idle" in it.agents)
    none = cross_play("overcooked", {"cook": "cook"}, episodes=1, interdependence=0, **KITCHEN)
    assert none.rows()[0]["interdependence"] is None


def test_interdependence_is_unknown_without_actions_that_do_more_than_move():
    result = cross_play("dual_destination", {"random": "random"}, episodes=2)
    assert result.pairings[0].interdependence is None


def test_people_have_rows_beside_the_agents(tmp_path):
    pytest.importorskip("pandas")
    played = read_played(TRIALS)
    params = played[0].params
    pool = {"random": "random", "idle": "idle"}
    result = cross_play("overcooked_ai", pool, episodes=2, people=TRIALS, **params)
    assert result.names == ["random", "idle", "people"]
    rows = {(row["agent"], row["partner"]): row for row in result.rows()}
    assert len(rows) == 5 and rows["people", "people"]["episodes"] == 3
    returns = []
    for it in played:
        world = coplay._coplay.World("overcooked_ai", coplay.spec.params_json(params))
        world.reset(0)
        for joint in it.actions:
            world.step(joint.tolist())
        returns.append(np.mean(world.returns))
    assert result.returns("people", "people") == pytest.approx(returns)
    idle = np.mean([it.actions == it.spec.noop for it in played])
    assert rows["people", "people"]["idle_share"] == pytest.approx(idle)
    assert "| people | – | – |" in result.markdown()
    assert np.isnan(result.matrix()[2, 0]) and result.svg(tmp_path / "a.svg").count("–") == 4
    with pytest.raises(ValueError, match="is the name of the people"):
        cross_play("overcooked_ai", {"people": "idle"}, people=TRIALS, **params)
    with pytest.raises(ValueError, match="people: the data have no episode of overcooked with"):
        cross_play("overcooked", pool, episodes=1, people=TRIALS, **KITCHEN)


def test_models_that_are_not_disclosed_keep_apart():
    def named(controller, partner=None):
        return _name_agent(np.array([controller, controller], object), partner)

    assert named("human") == PEOPLE and named("cook", "helper") == "cook"
    assert named("net.onnx@12345678abcd", "sp_1") == "net.onnx"
    assert named("ai@12345678abcd", "sp_1") == "sp_1"
    assert named("ai@12345678abcd~d3n50") == "ai@12345678"
    assert _name_agent(np.array(["human", "cook"], object), None) is None
