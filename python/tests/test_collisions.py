"""Collisions from descriptions, held against the map that the kitchen itself observes."""

import numpy as np
import pytest

import coplay
from coplay._collisions import Stand, count_collisions, find_collided, read_stand
from coplay._vectors import Vectors, play
from coplay.evaluate import cross_play

KITCHENS = ["overcooked", "overcooked_ai", "overcooked_jaxmarl_v2"]
STEPS = [(0, -1), (0, 1), (1, 0), (-1, 0)]


def vectors(env: str, **params) -> Vectors:
    return Vectors(env, coplay.spec.params_json(params))


def test_an_agent_reads_its_own_place():
    text = "Cook 1 is at row 9, column 9, facing up towards a pot, holding nothing.\n"
    text += "You, Ada, are at row 2, column 4, facing left towards free floor, holding an onion.\n"
    assert read_stand(text) == Stand((2, 4), (2, 3), "free floor")
    assert read_stand("You are at row 3, column 1. Your partner is at row 3, column 5.") is None


def test_moves_fail_because_of_others_or_of_walls():
    left = Stand((2, 2), (2, 3), "free floor")
    right = Stand((2, 4), (2, 3), "free floor")
    assert find_collided([left, right], [left, right], [True, True]) == [True, True]
    here, there = Stand((2, 2), (2, 3), "cook 2"), Stand((2, 3), (2, 2), "cook 1")
    assert find_collided([here, there], [here, there], [True, True]) == [True, True]
    assert find_collided([here, there], [here, there], [True, False]) == [True, False]
    wall = Stand((2, 2), (1, 2), "an empty counter")
    assert find_collided([wall, there], [wall, there], [True, False]) == [False, False]
    assert find_collided([left, there], [here._replace(cell=(2, 3)), there], [True, False]) == [False, False]


def test_collisions_of_a_kitchen_are_those_of_its_map():
    kitchen = vectors("overcooked_ai", layout="cramped_room", horizon=120)
    recording = play(kitchen, ["random", "random"], [3, 4, 5])
    counts = count_collisions(kitchen, recording)
    expected = []
    for episode, seed in enumerate(recording.seeds):
        world = coplay._coplay.World(kitchen.source, kitchen.params)
        world.reset(seed)
        hits = 0
        for joint in recording.actions[: recording.lengths[episode], episode].tolist():
            seen = world.observe(0).reshape(5, 4, 26)
            cells = [tuple(np.argwhere(seen[..., channel])[0].tolist()) for channel in (0, 1)]
            floor = seen[..., 10:16].sum(axis=2) == 0
            ahead = [
                (x + STEPS[a][0], y + STEPS[a][1]) if a < 4 else (x, y)
                for (x, y), a in zip(cells, joint, strict=True)
            ]
            wanted = [to if floor[to] else own for own, to in zip(cells, ahead, strict=True)]
            if wanted[0] == wanted[1] or wanted == cells[::-1]:
                hits += sum(own != to for own, to in zip(cells, wanted, strict=True))
            world.step(joint)
        expected.append(hits)
    assert counts.tolist() == expected and min(expected) > 0


@pytest.mark.parametrize("env", KITCHENS)
def test_every_kitchen_counts_collisions(env):
    kitchen = {"layout": "cramped_room", "horizon": 120}
    result = cross_play(env, {"random": "random", "idle": "idle"}, episodes=2, interdependence=0, **kitchen)
    found = {(row["agent"], row["partner"]): row["collisions"] for row in result.rows()}
    assert found["random", "random"] > 0 and found["idle", "idle"] == 0


@pytest.mark.parametrize("env", ["overcooked", "overcooked_ai"])
def test_cooks_in_rooms_of_their_own_never_collide(env):
    kitchen = {"layout": "forced_coordination", "horizon": 120}
    (pairing,) = cross_play(env, {"random": "random"}, episodes=2, interdependence=0, **kitchen).pairings
    assert not pairing.collisions.any()


def test_collisions_are_unknown_where_nothing_tells_them():
    result = cross_play("dual_destination", {"random": "random"}, episodes=1, interdependence=0)
    assert result.rows()[0]["collisions"] is None
