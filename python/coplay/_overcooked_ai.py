"""The human trials published with `overcooked-ai`: tables with a row for each step, as a pickle or CSV.

There are two forms. That of 2019 comes with the package 1.1.0 (`data/human_data`): a pair is `workerid_num`, and kitchens
have the names of that year. That of later years has `trial_id`, `player_0_id` and `player_1_id`. Both have the actions,
and what the kitchen was at each step. The actions are played again here, and a trial counts only if every position of the
cooks and every delivery is as recorded.
Source: github.com/HumanCompatibleAI/overcooked_ai, `src/human_aware_rl/static/human_data`.
"""

from __future__ import annotations

import ast
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coplay import _coplay
from coplay._optional import import_optional

SUFFIXES = (".pickle", ".pkl", ".csv")

RULES = ("overcooked-ai-old", "overcooked-ai-1.1.0")
"""Rules that people played with; in the first, three ingredients start the cooking."""

KITCHENS = {
    "simple": "cramped_room",
    "unident_s": "asymmetric_advantages",
    "random0": "forced_coordination",
    "random1": "coordination_ring",
    "random3": "counter_circuit_o_1order",
}
"""Today's names of the kitchens of 2019."""

ACTIONS = {(0, -1): 0, (0, 1): 1, (1, 0): 2, (-1, 0): 3, (0, 0): 4}
"""Moves up, down, right and left, and none."""

INTERACT = 5

PLACE = re.compile(r"""['"]position['"]: ?\[(\d+), ?(\d+)\], ?['"]orientation['"]""")
"""The place of a cook in a state; things have no orientation."""

NEEDED = ("layout_name", "joint_action", "cur_gameloop")

CLASSES = {
    "ArrowStringArray",
    "BlockManager",
    "DataFrame",
    "Float64Index",
    "Index",
    "Int64Index",
    "RangeIndex",
    "StringDtype",
    "_frombuffer",
    "_new_Index",
    "_reconstruct",
    "_restore_array",
    "_unpickle_block",
    "dtype",
    "ndarray",
    "py_buffer",
    "scalar",
    "type_for_alias",
}
"""The parts of a pickled table. Anything else could be a program, and is refused."""


@dataclass(frozen=True)
class Trial:
    """Two cooks in one kitchen, from the start to the end."""

    id: str
    kitchen: str
    """The name of the kitchen."""
    params: dict[str, Any]
    """Parameters of the environment `overcooked_ai`."""
    actions: NDArray[np.int64]
    """`[tick, seat]`."""
    participants: tuple[str, str]
    is_human: tuple[bool, bool]


def read_trials(path: Path) -> list[Trial]:
    """Every trial of a file that is played again as it was recorded.

    Raises `FileNotFoundError`, or `ValueError` if the file is no table of trials, or if no trial is played again as
    recorded; the message says what differs.
    """
    table = _read_table(path)
    lacking = [name for name in NEEDED if name not in table.columns]
    if lacking:
        raise ValueError(
            f"{path}: the table has no column {', '.join(lacking)}; human trials of overcooked-ai have "
            f"{', '.join(NEEDED)}, and trial_id or workerid_num"
        )
    if "is_leader" in table.columns:
        # Each game of 2019 was stored by both players; one copy is enough.
        table = table[table["is_leader"].astype(bool)]
    keys = ["trial_id"] if "trial_id" in table.columns else ["run", "workerid_num", "layout_name"]
    keys = [key for key in keys if key in table.columns]
    groups = [group.sort_values("cur_gameloop") for _, group in table.groupby(keys)] if keys else []
    lengths: dict[str, int] = {}
    for group in groups:
        name = str(group["layout_name"].iloc[0])
        lengths[name] = max(lengths.get(name, 0), len(group))
    trials, refused = [], []
    for group in groups:
        try:
            trials.append(_read_trial(group, lengths[str(group["layout_name"].iloc[0])]))
        except ValueError as error:
            refused.append(str(error))
    if not trials:
        why = refused[0] if refused else "there is no column trial_id or workerid_num to tell trials apart"
        raise ValueError(f"{path}: no trial can be played again: {why}")
    return trials


def _read_table(path: Path) -> Any:
    """The table of a file. A pickle may hold a table alone, and no program."""
    pandas = import_optional("pandas", "a table of human trials")
    if not path.is_file():
        raise FileNotFoundError(f"{path}: there is no such file")
    if path.suffix == ".csv":
        try:
            return pandas.read_csv(path)
        except ValueError as error:
            raise ValueError(f"{path}: this is no CSV table: {error}") from error
    compat = import_optional("pandas.compat.pickle_compat", "a pickle of human trials")

    class Tables(compat.Unpickler):  # type: ignore[misc, name-defined]
        def find_class(self, module: str, name: str) -> Any:
            of_table = module.split(".")[0] in ("numpy", "pandas", "pyarrow") and name in CLASSES
            if not of_table and (module, name) not in [("builtins", "slice"), ("_codecs", "encode")]:
                raise ValueError(f"the pickle holds {module}.{name}, which is no part of a table; save it as CSV")
            return super().find_class(module, name)

    try:
        with path.open("rb") as file:
            table = Tables(file).load()
    except Exception as error:
        raise ValueError(f"{path}: this is no pickle of a table: {error}") from error
    if not isinstance(table, pandas.DataFrame):
        raise ValueError(f"{path}: the pickle holds a {type(table).__name__}, not a table")
    return table


def _read_trial(group: Any, horizon: int) -> Trial:
    """A trial, under the rules by which it is played again as recorded. Raises `ValueError` if there are none."""
    first = group.iloc[0]
    name = str(first["layout_name"])
    has_id = "trial_id" in group.columns
    label = str(first["trial_id"]) if has_id else f"{first['workerid_num']} in {name}"
    actions = np.array([_read_actions(label, joint) for joint in group["joint_action"]], np.int64)
    kitchen = KITCHENS.get(name, name)
    layouts = [kitchen]
    if "layout" in group.columns:
        layouts.append(_write_layout(_read_value(first["layout"])))
    whys = []
    for layout in layouts:
        for rules in RULES:
            params = {"rules": rules, "layout": layout, "observation": ["features"], "horizon": horizon}
            why = _find_difference(group, params, actions)
            if why is None:
                players = [f"player_{seat}_id" for seat in (0, 1)]
                has_players = all(column in group.columns for column in players)
                of_pair = str(first["workerid_num"]) if not has_players and "workerid_num" in group.columns else label
                ids = [str(first[it]) if has_players else f"{of_pair}/{at}" for at, it in enumerate(players)]
                human = [bool(first.get(f"player_{seat}_is_human", True)) for seat in (0, 1)]
                return Trial(label, kitchen, params, actions, (ids[0], ids[1]), (human[0], human[1]))
            whys.append(f"{rules}: {why}")
    raise ValueError(f"trial {label}: " + "; ".join(whys))


def _read_value(text: Any) -> Any:
    """A value that is written as JSON or as a Python literal."""
    if not isinstance(text, str):
        return text
    try:
        return json.loads(text)
    except ValueError:
        return ast.literal_eval(text)


def _read_actions(label: str, joint: Any) -> list[int]:
    """The actions of both cooks in a step."""
    try:
        return [INTERACT if isinstance(own, str) else ACTIONS[tuple(own)] for own in _read_value(joint)]
    except (ValueError, SyntaxError, KeyError, TypeError):
        raise ValueError(f"trial {label}: {joint!r} are no actions of two cooks") from None


def _write_layout(rows: Any) -> str:
    """The text of a layout file with these rows, in which three onions are the only order."""
    lines = rows if isinstance(rows, list) else str(rows).splitlines()
    order = [{"ingredients": ["onion"] * 3}]
    return repr({"grid": "\n".join(str(line) for line in lines), "start_all_orders": order})


def _find_difference(group: Any, params: dict[str, Any], actions: NDArray[np.int64]) -> str | None:
    """Where the kitchen differs from the recording; `None` if it does not."""
    try:
        world = _coplay.World("overcooked_ai", json.dumps({**params, "observation": ["lossless"]}))
    except ValueError as error:
        return str(error)
    world.reset(0)
    shape = tuple(json.loads(world.spec())["observation"][0]["shape"])
    states = group["state"].tolist() if "state" in group.columns else [None] * len(group)
    rewards = group["reward"].tolist() if "reward" in group.columns else [None] * len(group)
    for tick, (state, reward) in enumerate(zip(states, rewards, strict=True)):
        if state is not None and (why := _compare_places(state, world.observe(0).reshape(shape))):
            return f"step {tick}: {why}"
        before = world.score()
        world.step([int(action) for action in actions[tick]])
        is_delivery = world.score() > before
        if reward is not None and is_delivery != (reward > 0):
            return f"step {tick}: {'a' if is_delivery else 'no'} soup is delivered here, and the recording has it otherwise"
    return None


def _compare_places(state: Any, seen: NDArray[np.float32]) -> str | None:
    """How the places of the cooks differ; `None` if they do not."""
    there = [[int(x), int(y)] for x, y in PLACE.findall(str(state))]
    if len(there) != 2:
        return f"the state has the places of {len(there)} cooks, and must have two"
    for seat, place in enumerate(there):
        own = np.argwhere(seen[:, :, seat] == 1)
        here = [int(at) for at in own[0]] if len(own) else []
        if here != place:
            return f"cook {seat} stands at {here} here, and at {place} in the recording"
    return None
