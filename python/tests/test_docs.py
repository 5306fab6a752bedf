"""Every snippet of `docs/python.md` runs, by itself, as a reader copies it."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

PAGE = Path(__file__).parents[2] / "docs" / "python.md"
EVALUATION = PAGE.parent / "evaluation.md"


def sections(page=PAGE):
    """The snippets of each section, by its heading."""
    for part in page.read_text().split("\n## ")[1:]:
        heading = part.splitlines()[0]
        blocks = re.findall(r"^```python\n(.*?)^```", part, re.DOTALL | re.MULTILINE)
        assert blocks, f"{heading}: a section without a snippet"
        yield heading, blocks


SECTIONS = dict(sections())
SNIPPETS = [
    pytest.param(block, id=f"{heading} {number}")
    for heading, blocks in SECTIONS.items()
    for number, block in enumerate(blocks, 1)
    if not heading.startswith("Training")
]


def run(heading, folder, monkeypatch):
    """The names that a section of one snippet leaves."""
    monkeypatch.chdir(folder)
    names = {"__name__": "__main__"}
    (block,) = SECTIONS[heading]
    exec(compile(block, f"{PAGE.name}: {heading}", "exec"), names)
    return names


@pytest.mark.parametrize("snippet", SNIPPETS)
def test_snippets_run(snippet, tmp_path):
    if "my_env.wasm" in snippet:
        modules = os.environ.get("COPLAY_MODULES")
        if modules is None:
            pytest.skip("COPLAY_MODULES names no folder of modules")
        shutil.copy(Path(modules) / "overcooked.wasm", tmp_path / "my_env.wasm")
    done = subprocess.run(
        [sys.executable, "-c", snippet], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_the_snippets_about_evaluation_run_in_their_order(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "__main__"}
    for heading, blocks in sections(EVALUATION):
        for block in blocks:
            exec(compile(block, f"{EVALUATION.name}: {heading}", "exec"), names)
    assert (tmp_path / "cross_play.svg").read_text().count("<rect") == 9
    assert names["result"].markdown().count("\n") == 5


def test_stable_baselines_learns(tmp_path, monkeypatch):
    names = run("Training with Stable-Baselines3", tmp_path, monkeypatch)
    # Random play puts hardly an onion (3 points) into a pot in 60 steps; the trained cook fills it.
    assert names["before"] < 1.5
    assert names["after"] > 4.0


def test_torchrl_trains_all_seats(tmp_path, monkeypatch):
    import torch

    names = run("Training with TorchRL", tmp_path, monkeypatch)
    assert len(names["returns"]) == 5
    assert np.isfinite(names["returns"]).all()
    # Both agents were played, observed and masked, and what was collected changed the policy.
    batch = names["batch"]
    assert batch["seat", "observation"].shape == (600, 2, names["kitchen"].world_spec.observation_len)
    chosen = batch["seat", "action_mask"].gather(-1, batch["seat", "action"].unsqueeze(-1))
    assert chosen.all(), "only actions that may have an effect"
    with torch.no_grad():
        logits = names["actor"](batch.clone())["seat", "logits"]
    assert not torch.allclose(logits, batch["seat", "logits"])
