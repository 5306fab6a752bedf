"""The data of a study: tables, episodes, arrays, and the loader of Minari."""

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

import coplay

ROOT = Path(__file__).parents[2]
PROGRAM = os.environ.get("COPLAY_PROGRAM")
pytestmark = pytest.mark.skipif(PROGRAM is None, reason="COPLAY_PROGRAM names no program")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The data folder of two people and an AI partner, as an earlier program wrote it."""
    folder = tmp_path_factory.mktemp("study") / "data"
    shutil.copytree(ROOT / "tests" / "data-folders" / "v1" / "overcooked-coord" / "data", folder)
    return folder


@pytest.fixture(scope="module")
def data(folder, tmp_path_factory):
    return coplay.Dataset(folder, cache=tmp_path_factory.mktemp("cache"))


STUDY = """format: 1
study: {id: race, version: 1.0.0, title: Race, contact: lab@example.edu}
timeline:
  - {id: lobby, type: lobby, group_size: 2, timeout_s: 60, on_timeout: leave}
  - id: play
    type: env
    env: {python: race.py:make, horizon: 30}
    players: [self, partner]
    record_observations: true
  - {id: thanks, type: end, file: thanks.md}
"""


@pytest.fixture(scope="module", params=["repeats itself", "does not"])
def hosted(request, tmp_path_factory):
    """The data folder of people who played a game in Python on a host; in one, the coin lies where the system says."""
    folder = tmp_path_factory.mktemp("hosted")
    race = (ROOT / "page-python" / "tests" / "games" / "race.py").read_text()
    if request.param == "does not":
        # No two runs have the coin at the same place, not even by chance.
        race = race.replace("random.Random(seed)", "random.SystemRandom()")
        race = race.replace("self.rng.randrange(self.size)", "self.rng.uniform(0, self.size)")
    study = {"study.yaml": STUDY, "thanks.md": "# Thanks\n", "race.py": race}
    for name, text in study.items():
        (folder / name).write_text(text)
    claim = "verified" if request.param == "repeats itself" else "recorded"
    order = [PROGRAM, "rehearse", folder, "--sessions", "4", "--arrivals-per-min", "60", "--data", folder / "data"]
    done = subprocess.run(order, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "data", claim


def of_one_shape(data):
    """The episodes of the stage `play` whose observations have the shape that most of them have."""
    shapes = {}
    for episode in data:
        if episode.stage == "play":
            shapes.setdefault(episode.world().observe(0).shape, []).append(episode)
    return max(shapes.values(), key=len)


def test_tables_have_types_and_descriptions(data):
    assert data.steps.rows == 13_200
    assert "seat" in data.steps.columns and data.steps.description
    frame = data.steps.to_pandas(["episode_id", "tick", "reward", "is_bot"])
    assert list(frame.columns) == ["episode_id", "tick", "reward", "is_bot"]
    assert [str(kind) for kind in frame.dtypes][1:] == ["int64", "float32", "bool"]
    keys = data["keys"].to_pandas()
    assert str(keys.shown_unix_us.dtype) == "Int64", "whole numbers stay whole beside missing ones"
    assert "steps" in dir(data)
    with pytest.raises(AttributeError, match="nothing"):
        _ = data.nothing
    with pytest.raises(KeyError, match="there are episodes"):
        data["nothing"]


def test_a_folder_is_exported_again_only_if_it_changed(folder, data, tmp_path):
    first = coplay.Dataset(folder, cache=tmp_path).sessions.path
    before = first.stat().st_ino
    assert coplay.Dataset(folder, cache=tmp_path).sessions.path.stat().st_ino == before
    (folder / "episodes" / "e-new.coplay").write_bytes(b"\x01COPLAY\n")
    try:
        changed = coplay.Dataset(folder, cache=tmp_path).sessions.path
        assert changed != first and not first.exists()
    finally:
        (folder / "episodes" / "e-new.coplay").unlink()


def test_every_episode_is_simulated_as_it_was_played(data):
    assert len(data) == 9
    for episode in data:
        worlds = sum(1 for _ in episode.replay())
        assert worlds == episode.ticks + 1
        assert episode.actions.shape == episode.rewards.shape == episode.is_human.shape


def test_observations_rewards_and_events_fit_together(data):
    episode = max(data, key=lambda episode: episode.score)
    assert episode.score > 0
    seen = episode.observations(0)
    assert seen.shape[0] == episode.ticks + 1 and seen.dtype == np.float32
    events = episode.events
    assert (events.kind == "delivery").sum() > 0
    world = episode.world()
    total = np.zeros_like(episode.rewards)
    for tick, row in enumerate(episode.actions):
        rewards, *_ = world.step([int(action) for action in row])
        total[tick] = rewards[: total.shape[1]]
    assert np.array_equal(total, episode.rewards), "the table has what the environment gives"
    pixels = next(iter(data)).pixels(scale=4)
    assert pixels.dtype == np.uint8 and pixels.ndim == 4


def test_arrays_for_offline_learning(data):
    with pytest.raises(ValueError, match="different parameters"):
        data.to_numpy(seat=0, stage="play")
    played = of_one_shape(data)
    same = [episode.id for episode in played]
    steps = data.to_numpy(seat=0, stage="play", episodes=same)
    ticks = sum(episode.ticks for episode in played)
    assert all(len(values) == ticks for values in steps.values())
    assert steps["is_first"].sum() == steps["is_last"].sum() == len(played)
    ended = steps["terminations"] | steps["truncations"]
    assert np.array_equal(ended & steps["is_last"], steps["is_last"])
    inner = ~steps["is_last"][:-1]
    assert np.array_equal(steps["next_observations"][:-1][inner], steps["observations"][1:][inner])
    by_people = data.to_numpy(seat=0, episodes=same, human_only=True, observation="none")
    assert len(by_people["actions"]) == steps["is_human"].sum() and "observations" not in by_people
    with pytest.raises(ValueError, match="no seat 7"):
        data.to_numpy(seat=7)


def test_episodes_of_a_python_environment_are_arrays(hosted, tmp_path):
    folder, claim = hosted
    data = coplay.Dataset(folder, cache=tmp_path / "cache")
    assert set(data.episodes.to_pandas().claim) == {claim}
    episode = max(data, key=len)
    assert episode.seats == 2 and len(episode) == 30
    assert episode.actions.shape == episode.rewards.shape == episode.is_human.shape == (30, 2)
    seen = episode.observations(1)
    assert seen.shape == (31, 4) and seen.dtype == np.float32
    # Seat 1 begins in the corner, and nobody moves two cells at once.
    assert list(seen[0, :2]) == [4, 4] and np.abs(np.diff(seen[:, :2], axis=0)).sum(axis=1).max() == 1
    won = (seen[1:, :2] == seen[:-1, 2:]).all(axis=1)
    assert (episode.rewards[:, 1] <= won).all()
    pictures = episode.pixels(0)
    assert pictures.shape[0] == 31 and pictures.shape[3] == 3 and len(np.unique(pictures, axis=0)) > 5
    assert episode.video(tmp_path / "race.gif", width=60).read_bytes().startswith(b"GIF89a")
    with pytest.raises(ValueError, match="has states 0 to 30"):
        episode.video(tmp_path / "late.gif", last_tick=31)
    steps = data.to_numpy(seat=0)
    assert steps["observations"].shape == steps["next_observations"].shape == (sum(map(len, data)), 4)
    with pytest.raises(ValueError, match="a program in Python, which a dataset does not run"):
        episode.world()
    with pytest.raises(ValueError, match="name a seat, and no scale"):
        episode.pixels()
    with pytest.raises(ValueError, match="has no seat 7"):
        episode.observations(7)
    # Without the data folder, an export needs the observations.
    with pytest.raises(ValueError, match="--observations features"):
        coplay.Dataset(data.tables["steps"].path.parent).episode(episode.id).observations(0)


def test_what_an_episode_of_a_python_environment_lacks_is_named(hosted, tmp_path, monkeypatch):
    parquet = pytest.importorskip("pyarrow.parquet")
    folder, claim = hosted
    data = coplay.Dataset(folder, cache=tmp_path / "cache")
    episode = max(data, key=len)
    tables = data.tables["steps"].path.parent
    wanted = tmp_path / "wanted"
    order = [PROGRAM, "export", "--data", folder, "--out", wanted, "--format", "parquet", "--observations", "features,pixels"]
    subprocess.run(order, check=True, capture_output=True)

    def changed(table, change):
        part = tmp_path / f"{table}-changed"
        shutil.rmtree(part, ignore_errors=True)
        shutil.copytree(wanted, part)
        parquet.write_table(change(parquet.read_table(part / f"{table}.parquet")), part / f"{table}.parquet")
        return coplay.Dataset(part).episode(episode.id)

    def without(rows):
        ids, seats, ticks = (rows[name].to_pylist() for name in ("episode_id", "seat", "tick"))
        return rows.filter([(id, seat, tick) != (episode.id, 0, 7) for id, seat, tick in zip(ids, seats, ticks, strict=True)])

    assert coplay.Dataset(wanted).episode(episode.id).observations(0).shape == (31, 4)
    with pytest.raises(ValueError, match="30 of 31 states of seat 0 are there: the environment does not repeat itself"):
        changed("observations", without).observations(0)
    with pytest.raises(ValueError, match="30 of 31 states of seat 0 are there: .* pictures"):
        changed("pixels", without).pixels(0)
    with pytest.raises(ValueError, match="has no number of seats: write it again"):
        changed("seats", lambda rows: rows.drop_columns(["seats"])).observations(0)
    assert (tables / "seats.parquet").is_file()
    # Without a database, the files say what an environment is.
    bare = tmp_path / "bare"
    shutil.copytree(folder, bare, ignore=shutil.ignore_patterns("coplay.sqlite*"))
    with pytest.warns(UserWarning, match="left out: .*coplay.sqlite"):
        assert coplay.Dataset(bare, cache=tmp_path / "cache").episode(episode.id).observations(1).shape == (31, 4)
    # An interpreter that is not there: the reason is told each time, and where it is kept.
    if claim == "recorded":
        monkeypatch.setenv("COPLAY_PYTHON", str(tmp_path / "none"))
        other = tmp_path / "other"
        for _ in range(2):
            with pytest.warns(UserWarning, match="left out: .*none"):
                coplay.Dataset(folder, cache=other)
        monkeypatch.undo()
        shutil.rmtree(next(other.iterdir()))
        assert len(coplay.Dataset(folder, cache=other)) == len(data)


def test_a_new_statistic_equals_the_recorded_one(data):
    found = data.statistics(lambda episode: {"score": episode.score, "ticks": len(episode)})
    recorded = data.episodes.to_pandas().set_index("episode_id").score
    joined = found.set_index("episode_id").join(recorded.rename("score_recorded"))
    assert (joined.score == joined.score_recorded).all()


def test_what_is_no_data_is_named(data, tmp_path):
    with pytest.raises(FileNotFoundError, match="neither a data folder"):
        coplay.Dataset(tmp_path)
    with pytest.raises(KeyError, match="no episode"):
        data.episode("e-none")


def test_minari_reads_what_was_played(folder, data, tmp_path, monkeypatch):
    minari = pytest.importorskip("minari")
    out = tmp_path / "datasets"
    done = subprocess.run(
        [PROGRAM, "export", "--data", folder, "--format", "minari", "--out", out],
        capture_output=True, text=True, check=False,
    )
    assert done.returncode == 0, done.stderr
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(out))
    names = sorted(minari.list_local_datasets())
    # Episodes with other layouts have other observations, and are in separate data sets.
    width = of_one_shape(data)[0].observations(0).shape[1]
    by_stage = [name for name in names if f"-play-{width}-" in name]
    assert [name.rsplit("-", 2)[1] for name in by_stage] == ["joint", "seat0", "seat1"]
    joint, seat0, _ = (minari.load_dataset(name) for name in by_stage)
    played = {episode.id: episode for episode in of_one_shape(data)}
    assert seat0.total_episodes == len(played)
    assert seat0.total_steps == sum(len(episode) for episode in played.values())
    for found, metadata in zip(
        seat0.iterate_episodes(), seat0.storage.get_episode_metadata(seat0.episode_indices), strict=True
    ):
        episode = played[metadata["options"]["episode_id"]]
        assert seat0.observation_space.contains(found.observations[0])
        assert np.array_equal(found.observations, episode.observations(0))
        assert np.array_equal(found.actions, episode.actions[:, 0])
        assert np.allclose(found.rewards, episode.rewards[:, 0])
        assert found.terminations[-1] or found.truncations[-1]
    together = next(joint.iterate_episodes())
    assert set(together.observations) == {"seat0", "seat1"}
    assert joint.action_space.contains({seat: of[0] for seat, of in together.actions.items()})
    seats = together.infos["reward_seat0"] + together.infos["reward_seat1"]
    assert np.allclose(seats[:-1], together.rewards)


FACTS = """{"description": "A rehearsal.", "authors": ["Ada Example"], "license": "CC-BY-4.0", "url": "https://example.org"}"""


@pytest.fixture(scope="module")
def published(folder, tmp_path_factory):
    """The same study as an archive that can be published."""
    place = tmp_path_factory.mktemp("published")
    (place / "facts.json").write_text(FACTS, encoding="utf-8")
    command = [PROGRAM, "crate", "--data", folder, "--facts", place / "facts.json", "--out", place / "study.zip"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return place / "study.zip"


def test_a_published_study_is_opened_as_a_data_folder_is(published, data, tmp_path):
    found = coplay.Dataset(published, cache=tmp_path)
    assert len(found) == len(data)
    longest = max(found, key=len)
    assert np.array_equal(longest.observations(0), data.episode(longest.id).observations(0))
    with pytest.raises(ValueError, match="no archive"):
        with zipfile.ZipFile(tmp_path / "other.zip", "w") as other:
            other.writestr("a.txt", "a")
        coplay.Dataset(tmp_path / "other.zip", cache=tmp_path)


def test_the_program_verifies_what_it_published(published):
    done = subprocess.run([PROGRAM, "verify", published], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_mlcroissant_reads_the_published_tables(published, data, tmp_path):
    croissant = pytest.importorskip("mlcroissant")
    with zipfile.ZipFile(published) as archive:
        archive.extractall(tmp_path)
    described = croissant.Dataset(jsonld=tmp_path / "croissant.json")
    assert not described.metadata.issues.errors, described.metadata.issues.report()
    found = {row["episodes/episode_id"].decode(): row["episodes/score"] for row in described.records("episodes")}
    recorded = data.episodes.to_arrow(["episode_id", "score"]).to_pylist()
    assert found == {row["episode_id"]: row["score"] for row in recorded} and found


def test_lerobot_data_sets_are_frames_with_an_index(folder, data, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    pandas = pytest.importorskip("pandas")
    out = tmp_path / "datasets"
    done = subprocess.run(
        [PROGRAM, "export", "--data", folder, "--format", "lerobot", "--out", out],
        capture_output=True, text=True, check=False,
    )
    assert done.returncode == 0, done.stderr
    played = of_one_shape(data)
    width = played[0].observations(0).shape[1]
    [root] = (out / "coplay").glob(f"*-play-{width}-*-seat0")
    frames = parquet.read_table(root / "data").to_pandas()
    assert len(frames) == sum(len(episode) for episode in played)
    assert frames["index"].tolist() == list(range(len(frames)))
    episodes = parquet.read_table(root / "meta" / "episodes").to_pylist()
    statistics = json.loads((root / "meta" / "stats.json").read_text(encoding="utf-8"))
    for row in episodes:
        episode = data.episode(row["episode_id"])
        own = frames[row["dataset_from_index"] : row["dataset_to_index"]]
        seen = np.stack(own["observation.state"].to_numpy())
        assert np.array_equal(seen, episode.observations(0)[:-1])
        assert np.array_equal(own["action"].to_numpy(), episode.actions[:, 0])
    seen = np.stack(frames["observation.state"].to_numpy())
    for name, value in [("mean", seen.mean(0)), ("std", seen.std(0)), ("min", seen.min(0)), ("max", seen.max(0))]:
        assert np.allclose(statistics["observation.state"][name], value, atol=1e-4), name
    tasks = pandas.read_parquet(root / "meta" / "tasks.parquet")
    assert tasks.index[0].startswith("Stage play") and tasks.task_index.tolist() == [0]


def snippets(page):
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    return "\n".join(re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE))


def measure_adherence(folder, place):
    """Does what the guide says before its snippet on adherence: adds the key to a study, and runs the command."""
    text = (ROOT / "docs" / "analysis.md").read_text(encoding="utf-8")
    key = re.search(r"^```yaml\n(adherence:.*?)^```", text, re.DOTALL | re.MULTILINE).group(1)
    study = place / "my-study"
    shutil.copytree(ROOT / "examples" / "overcooked-coord", study)
    with (study / "study.yaml").open("a", encoding="utf-8") as file:
        file.write("\n" + key)
    command = re.search(r"^coplay (export .*--adherence .*)$", text, re.MULTILINE).group(1)
    command = command.replace("my-data", str(folder)).split()
    subprocess.run([PROGRAM, *command], cwd=place, check=True)


@pytest.mark.parametrize("page", ["analysis.md", "joining-tables.md"])
def test_the_snippets_of_a_page_run_one_after_the_other(page, folder, tmp_path):
    program = snippets(page)
    if "measured" in program:
        measure_adherence(folder, tmp_path)
    assert program.count("print(") >= 5
    environment = {**os.environ, "COPLAY_DATA": str(folder), "XDG_CACHE_HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
