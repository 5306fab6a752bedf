"""Refusals of an environment: the place, what is wrong, and how to fix it."""

import re

from importlib.metadata import version

import coplay
import numpy as np
import pytest

REFUSALS = [
    (
        "goal_finding",
        {"layout": ["####", "#+?#", "####"]},
        "layout[1]: row 2, column 3: no kind has the symbol `?`; there is: `g` goal, `#` wall",
    ),
    (
        "goal_finding",
        {"layout": ["####", "#g#"]},
        "layout[1]: row 2 has 3 symbols and row 1 has 4: make them equally long",
    ),
    (
        "goal_finding",
        {"layout": "smiple"},
        "layout: there is no layout `smiple`; did you mean `simple`?",
    ),
    (
        "goal_finding",
        {"layout": ["+g+"], "seats": 3},
        "layout: has 2 free cells, and there are 3 seats",
    ),
    (
        "overcooked",
        {"features": ["agent_dir", "agent_positon"]},
        "features[1]: there is no feature `agent_positon`; did you mean `agent_position`?",
    ),
    (
        "overcooked",
        {"rules": "cogrid-0.3.2", "cook_time": 5},
        "cook_time: is 30 steps by the rules of CoGrid",
    ),
    (
        "overcooked",
        {"view_radius": 2},
        "view_radius: is of no use without the feature `local_view`",
    ),
    (
        "overcooked",
        {"orders": {"max_active": 2, "time_limit": 100, "spwan": {}}},
        "orders.spwan: there is no parameter `spwan`; did you mean `spawn`?",
    ),
    ("overcooked", {"rules": "corected"}, "rules: there is no choice `corected`; did you mean `corrected`?"),
    ("overcooked", {"horizon": "long"}, 'horizon: invalid type: string "long", expected a whole number'),
    ("overcookd", {}, "environment: there is no environment `overcookd`; did you mean `overcooked`?"),
]


@pytest.mark.parametrize("make", [coplay.make, coplay.parallel_env, lambda env, **params: coplay.make_vec(env, 2, **params)])
@pytest.mark.parametrize(("env", "params", "words"), REFUSALS)
def test_a_refusal_names_the_place_and_the_mend(make, env, params, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        make(env, **params)


ARGUMENTS = [
    (coplay.make, ("overcooked",), {"seat": "all"}, "for all seats take `parallel_env` or `make_vec`"),
    (coplay.make, ("overcooked",), {"seat": 1.5}, "seat: there is no seat 1.5"),
    (coplay.make, ("overcooked",), {"seat": 2}, "seat: there is no seat 2; `overcooked` has seats 0 to 1"),
    (coplay.make, ("overcooked",), {"partners": 3}, "partners: 3 is no partner; give a name (cook, "),
    (coplay.make, ("overcooked",), {"partners": None}, "partners: None is no partner"),
    (coplay.make, ("overcooked",), {"partners": [3]}, "partners: 3 is no partner"),
    (coplay.make_vec, ("overcooked", 2), {"partners": 3}, "partners: 3 is no"),
    (coplay.make_vec, ("overcooked", 2), {"partners": None}, "partners: None is no"),
    (coplay.make_vec, ("overcooked", 2.5), {}, "num_envs: must be at least 1, a whole number, not 2.5"),
    (coplay.make_vec, ("overcooked", "2"), {}, "num_envs: must be at least 1, a whole number, not '2'"),
    (coplay.make_vec, ("overcooked", 0), {}, "num_envs: must be at least 1, a whole number, not 0"),
    (coplay.make_vec, (5, 2), {}, "id: 5 is neither"),
    (coplay.make, (5,), {}, "id: 5 is neither the id of an environment nor the path of a module"),
    (coplay.parallel_env, (None,), {}, "id: None is neither"),
]


@pytest.mark.parametrize(("make", "given", "named", "words"), ARGUMENTS)
def test_a_wrong_argument_is_named(make, given, named, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        make(*given, **named)


@pytest.mark.parametrize("make", [coplay.make, coplay.parallel_env, lambda env: coplay.make_vec(env, 2)])
def test_a_module_that_is_not_there_is_named(make):
    with pytest.raises(FileNotFoundError, match=r"nosuch\.wasm") as refused:
        make("nosuch.wasm")
    assert refused.value.filename == "nosuch.wasm"


def test_only_partners_that_can_play_are_named():
    with pytest.raises(ValueError, match="`cook` cannot play `goal_finding`.*these can: idle, random$"):
        coplay.make("goal_finding", partners="cook")


def test_numbers_of_numpy_are_numbers():
    assert coplay.make("overcooked", seat=np.int64(1)).seat == 1
    assert coplay.make_vec("overcooked", np.int32(2)).num_envs == 2


def test_the_package_tells_its_version():
    assert coplay.__version__ == version("coplay")
