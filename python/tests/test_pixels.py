"""Grids and pictures: in arrays, and in the tables that `coplay export` writes."""

import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import coplay

PROGRAM = os.environ.get("COPLAY_PROGRAM")
pytestmark = pytest.mark.skipif(PROGRAM is None, reason="COPLAY_PROGRAM names no program")

STUDY = """\
format: 1

study: {id: grids, version: 1.0.0, title: Grids, contact: lab@example.edu, language: en}

net: {ice: all, fallback: websocket}

timeline:
  - id: play
    type: env
    env: overcooked_ai@1.0.0
    players: [self, {policy: random}]
    config: {horizon: 60, tick_hz: 10}
    keys:
      move_up: [ArrowUp]
      move_down: [ArrowDown]
      move_left: [ArrowLeft]
      move_right: [ArrowRight]

  - id: bye
    type: end
    outcome: completed
    file: thanks.md
"""


def ask(*args):
    done = subprocess.run([PROGRAM, *args], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """An episode of an environment whose observation is a grid."""
    place = tmp_path_factory.mktemp("grids")
    (place / "study").mkdir()
    (place / "study" / "study.yaml").write_text(STUDY, encoding="utf-8")
    (place / "study" / "thanks.md").write_text("Thanks.", encoding="utf-8")
    ask("rehearse", place / "study", "--sessions", "1", "--faults", "slow-network", "--data", place / "data")
    return coplay.Dataset(place / "data", cache=place / "cache")


@pytest.fixture(scope="module")
def tables(data, tmp_path_factory):
    out = tmp_path_factory.mktemp("tables") / "out"
    kinds = "grid,pixels,atari"
    ask("export", "--data", data.path, "--format", "parquet", "--observations", kinds, "--out", out)
    return coplay.Dataset(out)


def test_a_grid_has_the_shape_that_the_environment_says(data, tables):
    [episode] = data
    grids = episode.grids(0)
    assert list(grids) == ["lossless"]
    assert grids["lossless"].shape == (episode.ticks + 1, 5, 4, 26)
    steps = data.to_numpy(seat=0, observation="grid")
    assert np.array_equal(steps["observations"], grids["lossless"][:-1])
    assert np.array_equal(steps["next_observations"], grids["lossless"][1:])
    rows = tables["grids"].to_pandas()
    assert set(rows["field"]) == {"lossless"} and set(rows["shape"]) == {"5,4,26"}
    own = rows[rows.seat == 1].sort_values("tick")
    assert np.array_equal(np.stack(own.grid).reshape(-1, 5, 4, 26), episode.grids(1)["lossless"])


def test_pixels_of_a_table_are_those_of_the_array(data, tables):
    [episode] = data
    rows = tables["pixels"].to_pandas()
    own = rows[rows.seat == 0].sort_values("tick")
    shape = (int(own.height.iloc[0]), int(own.width.iloc[0]), 3)
    found = np.stack([np.frombuffer(pixels, np.uint8).reshape(shape) for pixels in own.pixels])
    assert np.array_equal(found, episode.pixels(seat=0, scale=8))


def test_atari_pixels_are_stacks_of_the_lighter_of_two_states(data, tables):
    [episode] = data
    rows = tables["atari_pixels"].to_pandas()
    own = rows[rows.seat == 0].sort_values("tick")
    assert own.tick.tolist() == sorted({*range(0, episode.ticks + 1, 4), episode.ticks})
    stacks = np.stack([np.frombuffer(pixels, np.uint8).reshape(4, 84, 84) for pixels in own.pixels])
    assert np.array_equal(stacks[1:, :3], stacks[:-1, 1:])
    assert (stacks[0] == stacks[0, 0]).all()
    # Five by four cells at 21 pixels a cell: 84 rows as they are, and 105 columns in 84.
    grey = np.dot(episode.pixels(seat=0, scale=21).astype(float), [0.299, 0.587, 0.114])
    columns = np.repeat(grey, 4, axis=2).reshape(len(grey), 84, 84, 5).mean(axis=3)
    for at, tick in enumerate(own.tick):
        expected = np.maximum(columns[max(tick - 1, 0)], columns[tick])
        assert np.abs(stacks[at, 3] - expected).max() <= 1


def test_episodes_without_a_grid_are_told(data, tmp_path):
    with pytest.raises(ValueError, match='none of "features", "grid"'):
        data.to_numpy(seat=0, observation="atari")
    folder = Path(__file__).parents[2] / "tests" / "data-folders" / "v1" / "mazes" / "data"
    shutil.copytree(folder, tmp_path / "data")
    other = coplay.Dataset(tmp_path / "data", cache=tmp_path / "cache")
    with pytest.raises(ValueError, match="observes 0 grids"):
        other.to_numpy(seat=0, observation="grid")
