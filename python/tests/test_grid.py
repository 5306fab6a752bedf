"""Grid worlds that are files: what `docs/environments/without-code.md` says of Python."""

import re
import subprocess
import sys
from pathlib import Path

import coplay
import numpy as np
import yaml

ROOT = Path(__file__).parents[2]
WORLDS = ROOT / "examples" / "grid-worlds"


def read(name):
    return yaml.safe_load((WORLDS / f"{name}.yaml").read_text())


def test_the_documented_snippet_runs():
    page = (ROOT / "docs" / "environments" / "without-code.md").read_text()
    (snippet,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    subprocess.run([sys.executable, "-c", snippet], cwd=ROOT, check=True)


def test_a_kitchen_of_data_equals_the_built_in_kitchen():
    written = coplay.make_vec("grid", 64, seat="all", **read("cramped_room"))
    built_in = coplay.make_vec("overcooked", 64, seat="all", horizon=600)
    written.reset(seed=3)
    built_in.reset(seed=3)
    random = np.random.default_rng(3)
    earned = 0.0
    for _ in range(700):
        actions = random.integers(0, 7, written.num_envs)
        one, two = written.step(actions), built_in.step(actions)
        for index in (1, 2, 3):
            np.testing.assert_array_equal(one[index], two[index])
        earned += one[1].sum()
    assert earned > 0


def test_every_example_is_played_and_drawn():
    for file in sorted(WORLDS.glob("*.yaml")):
        if file.name == "study.yaml":
            continue
        env = coplay.make("grid", **read(file.stem), render_mode="rgb_array")
        env.reset(seed=1)
        for _ in range(20):
            env.step(env.action_space.sample())
        assert env.render().std() > 10
        assert env.world_spec.title == read(file.stem)["title"]
