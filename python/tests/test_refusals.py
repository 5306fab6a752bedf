"""What an environment refuses, with the place, what is wrong, and how to mend it."""

import re

import coplay
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
