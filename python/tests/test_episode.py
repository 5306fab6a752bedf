"""One episode: its video, its branches, and what policies would have done in it."""

import base64
import json
import os
import re
import shutil
import subprocess
import zlib
from pathlib import Path

import numpy as np
import pytest

import coplay

ROOT = Path(__file__).parents[2]
PROGRAM = os.environ.get("COPLAY_PROGRAM")
pytestmark = pytest.mark.skipif(PROGRAM is None, reason="COPLAY_PROGRAM names no program")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """The data of two people and an AI partner, as an earlier program wrote them."""
    folder = tmp_path_factory.mktemp("study") / "data"
    shutil.copytree(ROOT / "tests" / "data-folders" / "v1" / "overcooked-coord" / "data", folder)
    return coplay.Dataset(folder, cache=tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="module")
def episode(data):
    """The episode with the greatest score."""
    return max(data, key=lambda episode: episode.score)


def ask(*args):
    done = subprocess.run([PROGRAM, *args], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_video_equals_that_of_the_command_to_the_last_byte(data, episode, tmp_path):
    own = episode.video(tmp_path / "own.gif", seat=1, width=120, speed=2, first_tick=30, last_tick=60)
    order = ["--view", "1", "--width", "120", "--speed", "2", "--from", "30", "--to", "60"]
    ask("replay", episode.id, "--data", data.path, "--gif", tmp_path / "command.gif", *order)
    assert own.read_bytes() == (tmp_path / "command.gif").read_bytes()
    whole = episode.video(tmp_path / "whole.gif", width=60, first_tick=30, last_tick=60)
    assert whole.read_bytes() != own.read_bytes()


def test_a_video_that_cannot_be_is_refused(episode, tmp_path, monkeypatch):
    with pytest.raises(ValueError, match="ends in .gif or .mp4"):
        episode.video(tmp_path / "a.webp")
    with pytest.raises(ValueError, match=f"has states 0 to {episode.ticks}"):
        episode.video(tmp_path / "a.gif", last_tick=episode.ticks + 1)
    with pytest.raises(ValueError, match="no seat 9"):
        episode.video(tmp_path / "a.gif", seat=9, last_tick=1)
    monkeypatch.setenv("COPLAY_FFMPEG", str(tmp_path / "none"))
    with pytest.raises(ValueError, match="needs the program ffmpeg"):
        episode.video(tmp_path / "a.mp4", last_tick=1)
    assert list(tmp_path.iterdir()) == []


def test_a_branch_has_the_rows_that_the_command_prints(data, episode):
    frame = episode.branch(200, 0, "random", runs=4)
    order = ["--tick", "200", "--seat", "0", "--with", "random", "--runs", "4", "--json"]
    printed = json.loads(ask("branch", episode.id, "--data", data.path, *order))
    assert frame.to_dict("records") == printed["runs"] and len(frame) == 4
    assert frame.attrs["recorded"] == {"score": episode.score, "ticks": episode.ticks}
    with pytest.raises(RuntimeError, match="name a seat from 0 to 1"):
        episode.branch(200, 7, "random")
    export = coplay.Dataset(data.tables["steps"].path.parent)
    with pytest.raises(ValueError, match="open the data folder"):
        export.episode(episode.id).branch(0, 0, "idle")


def test_a_script_and_a_function_say_one_action_at_each_tick(episode):
    spec = episode._dataset._spec(episode)
    idle = episode.play("idle")
    assert idle.shape == (episode.ticks, spec.seats, len(spec.actions)) and idle.dtype == np.float32
    assert (idle[:, :, spec.noop] == 1).all() and (idle.sum(axis=2) == 1).all()
    assert np.array_equal(episode.play(lambda observation: spec.noop, seat=1), idle[:, 1])
    cook = episode.play("cook", seat=0)
    assert (cook.sum(axis=1) == 1).all() and cook.argmax(axis=1).max() > 0
    even = np.full(len(spec.actions), 1 / len(spec.actions))
    assert np.allclose(episode.play(lambda observation: even, seat=0), even)
    for wrong in (99, 0.5, [1.0, 0.0]):
        with pytest.raises(ValueError, match="policy: "):
            episode.play(lambda observation, wrong=wrong: wrong, seat=0)
    with pytest.raises(ValueError, match="there is no partner `chef`"):
        episode.play("chef")


def advice(data, episode, policy, folder):
    """The percentages that the page of a replay shows for a policy, `[seat, tick, action]`; one more than ticks."""
    page = folder / "replay.html"
    ask("replay", episode.id, "--data", data.path, "--ask", policy, "--html", page)
    packed = re.search('id="data">([^<]*)<', page.read_text(encoding="utf-8"))
    [replay] = json.loads(zlib.decompress(base64.b64decode(packed[1])))
    [found] = replay["advice"]
    return np.array(found["seats"]).reshape(len(found["seats"]), episode.ticks + 1, -1)


def test_scripts_and_stored_models_say_what_the_page_of_a_replay_shows(data, tmp_path):
    [stored] = (data.path / "networks").glob("*.network")
    model = f"agent@{stored.stem}"
    compared = set()
    for episode in of_one_size(data):
        for policy in {"cook", model} - compared:
            try:
                shares = episode.play(policy)
            except ValueError as refused:
                assert policy == model, refused
                continue
            assert np.allclose(shares.sum(axis=2), 1, atol=1e-5)
            shown = advice(data, episode, policy, tmp_path)[:, :-1].transpose(1, 0, 2)
            assert np.array_equal(np.floor(shares * 100 + np.float32(0.5)), shown)
            compared.add(policy)
    assert compared == {"cook", model}


def of_one_size(data):
    """One episode of each shape of observations."""
    return {episode.world().observe(0).shape: episode for episode in data}.values()
