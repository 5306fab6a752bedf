"""Human proxies: the data that are read, held-out people, learning, and the report."""

import json
import os
import pickle
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import coplay
from coplay import clone
from coplay._clone_command import read_arguments
from coplay._inputs import choose_inputs
from coplay._network import Encoding, Examples, Network, fit
from coplay._overcooked_ai import read_trials
from coplay._played import PEOPLE, choose, read_played, with_params
from coplay._split import split_people

pytest.importorskip("onnx")
pytest.importorskip("pandas")

ROOT = Path(__file__).parents[2]
TRIALS = Path(__file__).parent / "trials"
needs_program = pytest.mark.skipif("COPLAY_PROGRAM" not in os.environ, reason="COPLAY_PROGRAM names no program")
SMALL = {"hidden": (32,), "steps": 300, "episodes": 4}


def copied(study, folder):
    """A copy of a rehearsed study's data folder, because opening a database changes it."""
    return shutil.copytree(ROOT / "tests" / "data-folders" / "v1" / study / "data", folder / study)


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    """A rehearsed study in which bots cooked with each other, and beside an AI partner."""
    folder = tmp_path_factory.mktemp("pairs")
    return coplay.Dataset(copied("overcooked-pairs", folder), cache=folder / "cache")


@pytest.fixture(scope="module")
def trained(pairs, tmp_path_factory):
    out = tmp_path_factory.mktemp("clone") / "human.onnx"
    return out, clone.train(pairs, out, **SMALL)


def test_trials_of_both_forms_are_played_again():
    trials = read_trials(TRIALS / "of_2019.csv")
    assert [trial.actions.shape for trial in trials] == [(100, 2)] * 3
    assert {trial.kitchen for trial in trials} == {"cramped_room"}
    assert trials[0].params["rules"] == "overcooked-ai-old" and trials[0].is_human == (True, True)
    assert len({person for trial in trials for person in trial.participants}) == 6
    (later,) = read_trials(TRIALS / "later.csv")
    assert later.participants == ("a", "ai") and later.is_human == (True, False)
    played = read_played(TRIALS / "later.csv")
    assert played[0].agents == (PEOPLE, "ai") and played[0].observations(0).shape == (30, 96)


def change(tmp_path, old, new, name="of_2019.csv"):
    """The table with one text changed everywhere."""
    path = tmp_path / "changed.csv"
    text = (TRIALS / name).read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    return path


def test_a_trial_that_is_not_played_again_is_refused_with_the_step(tmp_path):
    moved = change(tmp_path, "{'position': [1, 2]", "{'position': [2, 2]")
    with pytest.raises(ValueError, match=r"cook 0 stands at \[1, 2\] here, and at \[2, 2\] in the recording"):
        read_trials(moved)
    with pytest.raises(ValueError, match="no soup is delivered here, and"):
        read_trials(change(tmp_path, "cramped_room,0,", "cramped_room,5,"))
    with pytest.raises(ValueError, match="are no actions of two cooks"):
        read_trials(change(tmp_path, "'INTERACT'", "[3, 3]"))
    with pytest.raises(ValueError, match="no column joint_action"):
        read_trials(change(tmp_path, "joint_action", "actions"))
    with pytest.raises(FileNotFoundError, match="no such file"):
        read_trials(tmp_path / "none.csv")


def test_a_pickle_holds_a_table_and_no_program(tmp_path):
    import pandas

    path = tmp_path / "trials.pickle"
    pandas.read_csv(TRIALS / "of_2019.csv").to_pickle(path)
    assert len(read_trials(path)) == 3
    mark = tmp_path / "ran"

    class Program:
        def __reduce__(self):
            return (os.mkdir, (str(mark),))

    path.write_bytes(pickle.dumps(Program()))
    with pytest.raises(ValueError, match="no part of a table"):
        read_trials(path)
    assert not mark.exists()
    path.write_bytes(b"rubbish")
    with pytest.raises(ValueError, match="no pickle of a table"):
        read_trials(path)


def test_people_who_played_together_are_not_parted():
    played = read_played(TRIALS / "of_2019.csv")
    for seed in range(5):
        split = split_people(played, 0.2, np.random.default_rng(seed))
        assert split.by_group and len(split.held_out) == 2 and not split.held_out & split.learned
        assert len({person.split("/")[0] for person in split.held_out}) == 1
    alone = split_people(played[:1], 0.2, np.random.default_rng(0))
    assert not alone.by_group and len(alone.held_out) == len(alone.learned) == 1
    with pytest.raises(ValueError, match="at least two are needed"):
        split_people(read_played(TRIALS / "later.csv"), 0.2, np.random.default_rng(0))
    with pytest.raises(ValueError, match="held_out"):
        split_people(played, 1.0, np.random.default_rng(0))


def test_a_network_learns_a_rule_and_keeps_the_best_step():
    rng = np.random.default_rng(3)
    seen = rng.integers(0, 6, (600, 3)).astype(np.float32)
    chosen = (seen[:, 0] == 2).astype(np.int64) + (seen[:, 1] > 3)
    encoding = Encoding.of(seen)
    assert encoding.size == 18 and len(encoding.plain) == 0
    network = Network(encoding, (16,), 3, rng)
    learned, watched = Examples(seen[:500], chosen[:500]), Examples(seen[500:], chosen[500:])
    before = watched.likelihood(network)
    fit(network, learned, watched, steps=300, rng=rng, rate=1e-2)
    assert before < -0.9 and watched.likelihood(network) > -0.2


def test_gradients_are_those_of_the_likelihood():
    rng = np.random.default_rng(5)
    seen = rng.normal(size=(20, 4)).astype(np.float32)
    examples = Examples(seen, rng.integers(0, 3, 20))
    network = Network(Encoding.of(seen), (5,), 3, rng)
    network.weights[-1] *= 10
    gradient = network.gradients(examples.observations, examples.actions)[0][1, 2]
    found = []
    for change in (1e-2, -1e-2):
        network.weights[0][1, 2] += change
        found.append(-examples.likelihood(network))
        network.weights[0][1, 2] -= change
    assert gradient == pytest.approx((found[0] - found[1]) / 2e-2, rel=0.05, abs=1e-4)


@needs_program
def test_a_clone_foresees_people_better_than_frequencies_do(trained, pairs):
    path, report = trained
    assert report.split == "groups" and report.people_learned + report.people_held_out == 4
    assert report.likelihood > report.baseline, report.markdown()
    assert report.actions == sum(it.count for it in report.by_action)
    assert sum(it.share for it in report.by_action) == pytest.approx(1)
    assert sum(it.predicted for it in report.by_action) == pytest.approx(1, abs=1e-4)
    kinds = {(it.player, it.partner) for it in report.scores}
    assert kinds == {("people", "people"), ("clone", "clone"), ("people", "cook"), ("clone", "cook")}
    recorded = [it.score for it in pairs if it.participants[1] is None]
    (beside,) = [it for it in report.scores if (it.player, it.partner) == ("people", "cook")]
    assert beside.score_mean == pytest.approx(np.mean(recorded)) and beside.episodes == len(recorded)
    assert "Held-out likelihood" in report.markdown() and json.dumps(report.to_dict())
    world = next(iter(pairs)).world()
    assert coplay._coplay.Shares(str(coplay.Agent(path, temperature=1.0)), world, 0, 1).next(world).sum() == pytest.approx(1, abs=1e-5)


@needs_program
def test_the_same_seed_gives_the_same_model(trained, pairs, tmp_path):
    path, report = trained
    again = clone.train(pairs, tmp_path / "again.onnx", **SMALL)
    assert (tmp_path / "again.onnx").read_bytes() == path.read_bytes()
    assert again.likelihood == report.likelihood and again.scores == report.scores
    told = clone.report(path, pairs, episodes=4)
    assert told == report, "a report on the file says what training said"


def test_the_file_gives_what_the_network_gives(tmp_path):
    played = read_played(TRIALS / "of_2019.csv")
    specs = [(it.stage, it.spec) for it in played]
    inputs = choose_inputs(specs, None)
    assert inputs.is_whole and inputs.fields == (("obs", 96),)
    seen = inputs.cut(played[0].spec, played[0].observations(0))
    network = Network(Encoding.of(seen), (8,), 6, np.random.default_rng(1))
    network.weights[-1] *= 20
    network.save(tmp_path / "net.onnx", inputs.fields, "net")
    wanted = np.exp(network.log_probabilities(seen))
    worlds = played[0].replay()
    for tick, world in enumerate(worlds):
        if tick == 0:
            shares = coplay._coplay.Shares(str(coplay.Agent(tmp_path / "net.onnx", temperature=1.0)), world, 0, 0)
        assert np.allclose(shares.next(world), wanted[tick], atol=1e-4)


@needs_program
def test_kitchens_of_several_sizes_are_learned_by_the_names_of_fields(tmp_path):
    data = coplay.Dataset(copied("overcooked-coord", tmp_path), cache=tmp_path / "cache")
    played = choose(read_played(data), stage="play")
    inputs = choose_inputs([(it.stage, it.spec) for it in played], None)
    sizes = dict(inputs.fields)
    assert sizes["ordered_pot_features"] == 24 and "object_type_masks" not in sizes
    report = clone.train(data, tmp_path / "human.onnx", stage="play", hidden=(8,), steps=20, episodes=1)
    assert report.split == "people" and {it.setting for it in report.scores} >= {"layout cramped_room", "layout counter_circuit"}
    model = str(coplay.Agent(tmp_path / "human.onnx"))
    for layout in ("cramped_room", "asymmetric_advantages"):
        coplay.make("overcooked", layout=layout, partners=model).reset(seed=1)
    with pytest.raises(ValueError, match="stage .* observes .*other.* and other episodes do not"):
        clone.train(data, tmp_path / "all.onnx", steps=20)


@needs_program
def test_bad_data_are_refused_with_what_there_is(pairs, trained, tmp_path):
    out = tmp_path / "human.onnx"
    with pytest.raises(ValueError, match="no episode of hanabi; they have overcooked in stage rounds"):
        clone.train(pairs, out, env="hanabi")
    with pytest.raises(ValueError, match="no episode of any environment in stage test"):
        clone.train(pairs, out, stage="test")
    with pytest.raises(ValueError, match="params: no episode has"):
        clone.train(pairs, out, params={"layout": "forced_coordination"})
    with pytest.raises(ValueError, match="stage rounds has no field 'lossless'; it has agent_dir"):
        clone.train(pairs, out, observation="lossless")
    with pytest.raises(ValueError, match="it takes 96 values"):
        network = Network(Encoding.of(np.eye(96, dtype=np.float32)), (4,), 7, np.random.default_rng(0))
        network.save(tmp_path / "other.onnx", [("obs", 96)], "other")
        clone.report(tmp_path / "other.onnx", pairs, episodes=1)
    with pytest.raises(FileNotFoundError, match="no such model"):
        clone.report(tmp_path / "none.onnx", pairs)
    with pytest.raises(FileNotFoundError, match="neither a data folder"):
        clone.train(tmp_path, out)
    assert not out.exists()


@needs_program
def test_an_environment_that_is_not_here_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr("coplay.dataset.environments", list)
    folder = copied("overcooked-pairs", tmp_path)
    data = coplay.Dataset(folder, cache=tmp_path / "cache")
    (one, *_) = read_played(data)
    assert one.source.endswith(".wasm") and one.spec.id == "overcooked", "the module that the study stored"
    shutil.rmtree(folder / "modules")
    assert len(read_played(data)) == 40, "others may still be chosen"
    with pytest.raises(ValueError, match="which this package does not have; open the data folder itself"):
        clone.train(data, tmp_path / "human.onnx")


def test_the_command_trains_on_trials_and_prints_json(tmp_path):
    order = [sys.executable, "-m", "coplay.clone", TRIALS / "of_2019.csv", "--out", tmp_path / "human.onnx"]
    more = ["--steps", "200", "--episodes", "2", "--hidden", "16", "--json", "--report", tmp_path / "report.json"]
    done = subprocess.run([*order, *more], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told == json.loads((tmp_path / "report.json").read_text()) and told["people_held_out"] == 2
    assert told["likelihood"] > told["baseline"] and "reading" in done.stderr
    assert {it["stage"] for it in told["scores"]} == {"cramped_room"}
    done = subprocess.run([*order[:3], tmp_path, "--out", tmp_path / "x.onnx"], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "error: " in done.stderr and "Traceback" not in done.stderr


def test_the_command_line_says_what_is_missing(capsys):
    with pytest.raises(SystemExit):
        read_arguments(["data"])
    assert "--out" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        read_arguments(["data", "--out", "a.onnx", "--params", "[1]"])
    assert "JSON object" in capsys.readouterr().err


def test_episodes_with_other_parameters_are_listed():
    played = read_played(TRIALS / "of_2019.csv")
    same = {**played[0].params, "tick_hz": 30}
    assert len(with_params(played, "overcooked_ai", same)) == 3
    with pytest.raises(ValueError, match="people: the data have no episode of overcooked_ai with .*; they have"):
        with_params(played, "overcooked_ai", {"layout": "forced_coordination"})


@needs_program
def test_the_snippet_of_the_page_runs(tmp_path):
    text = (ROOT / "docs" / "cloning.md").read_text(encoding="utf-8")
    program = "\n".join(re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE))
    assert "clone.train" in program
    program = program.replace("my-data", str(copied("overcooked-pairs", tmp_path))).replace("human.onnx", str(tmp_path / "human.onnx"))
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
