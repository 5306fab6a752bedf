"""`examples/train-overcooked/train.py`: a shortened training learns, and its file plays here as it did there."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import coplay
from coplay.evaluate import cross_play

pytest.importorskip("torch")
pytest.importorskip("onnx")

SCRIPT = Path(__file__).parents[2] / "examples/train-overcooked/train.py"
SHIPPED = SCRIPT.with_name("self_play.onnx")
PROGRAM = os.environ.get("COPLAY_PROGRAM")
SMALL = {"layout": "cramped_room", "horizon": 100}


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("train_overcooked", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def plan_of(script, steps, **more):
    return script.Plan(minutes=10, steps=steps, instances=16, rollout=64, hidden=32, kitchen=SMALL, **more)


def test_a_shortened_training_earns_more_than_it_did_at_first(script):
    trained = script.train(plan_of(script, 40_000, entropy=(0.01, 0.01), rate=2e-3))
    rewards = [row["reward"] for row in trained.curve]
    first, last = np.mean(rewards[:5]), np.mean(rewards[-5:])
    assert last > 2 * first > 0, rewards
    assert [row["steps"] for row in trained.curve] == [1024 * at for at in range(1, len(rewards) + 1)]


def test_the_exported_file_chooses_what_the_recording_says(script, tmp_path):
    plan = plan_of(script, 1024)
    trained = script.train(plan)
    path = script.save(trained.agent, tmp_path / "agent.onnx", plan, trained.curve)
    assert len((tmp_path / "agent.csv").read_text().splitlines()) == 1 + len(trained.curve)
    trace = np.load(tmp_path / "agent.npz")
    assert trace["is_first"].sum() == 2 and len(trace["is_first"]) == 200
    world = coplay._coplay.World("overcooked", str(trace["params"]))
    agents = [coplay._coplay.Partner(str(coplay.Agent(path)), world) for _ in range(2)]
    episode = -1
    for step, is_first in enumerate(trace["is_first"]):
        if is_first:
            episode += 1
            world.reset(int(trace["seeds"][episode]))
        for seat, agent in enumerate(agents):
            seen = world.observe(seat)
            assert np.array_equal(seen, trace["observations"][step, seat])
            assert agent.act(seen) == trace["chosen"][step, seat]
        world.step(trace["actions"][step].tolist())


@pytest.mark.skipif(PROGRAM is None, reason="COPLAY_PROGRAM names no program")
def test_a_trained_agent_is_certified_and_drops_into_a_study(script, tmp_path):
    plan = plan_of(script, 1024)
    path = script.save(script.train(plan).agent, tmp_path / "agent.onnx", plan, [])

    def coplay_program(*args):
        done = subprocess.run([PROGRAM, *args], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    certificate = "agent.onnx.certificate.json"
    told = coplay_program("agent", "check", path, "--env", "overcooked", "--against", "agent.npz", "--out", certificate)
    assert "400 of 400 equal" in told
    coplay_program("new", "human-ai", "study", "--agents", path, "cook", "--layouts", "cramped_room")
    told = coplay_program("lint", "study")
    assert "certificate: 400 of 400 observations and 400 of 400 actions were equal in overcooked" in told


def test_a_best_response_and_a_population_come_from_the_same_file(script, tmp_path):
    plan = plan_of(script, 1024)
    pool = script.train_population(tmp_path, 1, plan)
    assert list(pool) == ["agent_1_start", "agent_1_half", "agent_1_end", "response"]
    assert all((tmp_path / f"{name}.onnx").is_file() for name in pool)
    result = cross_play("overcooked", pool, episodes=2, rewards=script.DELIVERIES, **SMALL)
    assert result.matrix().shape == (4, 4) and (result.matrix() >= 0).all()


def test_deliveries_of_partners_count_in_a_best_response(script):
    plan = script.Plan(instances=2, kitchen={"layout": "cramped_room", "horizon": 200})
    kitchens = script.Kitchens(plan, ["cook"])
    kitchens.reset(1)
    idle = np.full(kitchens.rows, kitchens.spec.noop)
    delivered = sum(kitchens.step(idle)[-1] for _ in range(200))
    world = coplay._coplay.World("overcooked", coplay.spec.params_json(plan.kitchen))
    points = 0
    for seat, first in enumerate((1, 10_001)):
        for seed in (first, first + 1):
            world.reset(seed)
            cook = coplay._coplay.Partner("cook", world)
            cook.reset(1 - seat, seed)
            while not world.over:
                action = cook.act(world.observe(1 - seat))
                world.step([6, action] if seat == 0 else [action, 6])
            points += world.score()
    assert delivered == points / 20 > 0


def test_the_minutes_to_a_target_are_read_from_the_curve(script, tmp_path):
    curve = [{"seconds": 30.0 * at, "deliveries": float(at)} for at in range(1, 21)]
    assert script.minutes_to(7.5, curve) == 6.0, "the mean of the rollouts 3 to 12 is 7.5"
    assert script.minutes_to(99, curve) is None and script.minutes_to(1, curve[:5]) is None
    script.draw(curve, 7.5, tmp_path / "curve.svg")
    picture = (tmp_path / "curve.svg").read_text()
    assert picture.count("<polyline") == 1 and "7.5 deliveries" in picture


def test_the_shipped_model_makes_the_deliveries_that_it_is_shipped_for(script):
    plan = script.Plan()
    result = script.deliveries({"agent": script.partner(SHIPPED)}, plan)
    assert result.matrix()[0, 0] >= 7.5


def test_the_command_line_refuses_a_response_to_nobody(script, capsys):
    with pytest.raises(SystemExit):
        script.read_arguments(["best-response", "out.onnx"])
    assert "--partners" in capsys.readouterr().err
