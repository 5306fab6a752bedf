"""The scripts of `coplay agent record`: all are Python, and the one for this package records what can be played again."""

import json
import runpy
from pathlib import Path

import coplay
import numpy as np
import pytest

FOLDER = Path(__file__).parents[2] / "catalog/src/agent/recipes"
PARTS = ["policy", "record"]
GAMES = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem not in PARTS)


def script(game):
    return "".join((FOLDER / f"{name}.py").read_text() for name in [game, *PARTS])


@pytest.mark.parametrize("game", GAMES)
def test_a_recipe_is_python_with_one_place_for_a_policy(game):
    code = script(game)
    compile(code, f"{game}.py", "exec")
    assert code.count("def choose(") == 1
    assert "SEATS = [0, 1]" in code


def test_the_trace_of_this_package_is_what_the_world_shows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    short = script("coplay").replace("EPISODES, STEPS = 3, 400", "EPISODES, STEPS = 2, 30")
    Path("record.py").write_text(short)
    runpy.run_path("record.py")
    trace = np.load("trace.npz")
    assert trace["observations"].shape[:2] == (60, 2) and trace["actions"].shape == (60, 2)
    assert trace["actions"].dtype.kind == "i" and trace["seats"].tolist() == [0, 1]
    params = json.loads(str(trace["params"]))
    assert params == {"rules": "corrected", "layout": "cramped_room", "horizon": 30}
    world = coplay._coplay.World("overcooked", json.dumps(params))
    episode = -1
    for step, actions in enumerate(trace["actions"]):
        if trace["is_first"][step]:
            episode += 1
            world.reset(int(trace["seeds"][episode]))
        for seat in range(2):
            assert np.array_equal(world.observe(seat), trace["observations"][step, seat])
        world.step(actions.tolist())
    assert episode == 1
