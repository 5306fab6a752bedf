"""One episode: what was recorded of it, and what is computed again from that."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from coplay import _coplay
from coplay._optional import import_optional
from coplay._program import find_program
from coplay.agent import Agent

if TYPE_CHECKING:
    from coplay.dataset import Dataset

Policy = str | os.PathLike[str] | Callable[[NDArray[np.float32]], Any]
"""A policy by its name or file, or a function of an observation."""


class Episode:
    """One episode: what was recorded of it, and what can be computed again from that."""

    def __init__(self, dataset: Dataset, id: str, seats: Sequence[Mapping[str, Any]]) -> None:
        if not seats:
            raise KeyError(f"there is no episode {id!r}; `dataset.episodes` has all of them")
        self.id = id
        self._dataset = dataset
        self._seats = sorted(seats, key=lambda row: row["seat"])
        first = self._seats[0]
        self.stage: str = first["stage_id"]
        self.group: str = first["group_id"]
        self.round: int | None = first["round"]
        self.env: str = first["env"]
        self.env_version: str = first["env_version"]
        self.params: dict[str, Any] = json.loads(first["params"] or "{}")
        self.seed = int(first["seed"], 16)
        self.tick_hz: int = first["tick_hz"]
        self.ticks: int = first["ticks"]
        self.demonstration: bool = bool(first.get("demonstration", False))
        self.score: int = first["score"]
        self.participants: list[str | None] = [row["participant_id"] for row in self._seats]
        self._module: str | None = first["module"]
        self._turns: bool = first["mode"] == "turns"

    def __repr__(self) -> str:
        return f"Episode({self.id!r}, {self.env} {self.env_version}, {self.ticks} ticks, score {self.score})"

    def __len__(self) -> int:
        return self.ticks

    def _rows(self, table: str) -> Any:
        return self._dataset[table].to_pandas(filters=[("episode_id", "==", self.id)])

    @cached_property
    def steps(self) -> Any:
        """The rows of `steps`."""
        return self._rows("steps")

    @cached_property
    def events(self) -> Any:
        """The rows of `step_events`: what happened in the environment."""
        return self._rows("step_events")

    def _by_seat(self, column: str, kind: Any) -> NDArray[Any]:
        values = np.zeros((self.ticks, self.seats), kind)
        steps = self.steps
        if len(steps) != values.size:
            raise ValueError(f"episode {self.id}: somebody withdrew, so the steps of a seat are missing")
        values[steps["tick"].to_numpy(), steps["seat"].to_numpy()] = steps[column].to_numpy()
        return values

    @cached_property
    def seats(self) -> int:
        """The number of seats."""
        number = self._seats[0].get("seats")
        if number is not None:
            return int(number)
        if self._is_in_python:
            raise ValueError("this export is of an earlier program, and has no number of seats: write it again")
        return self._dataset._spec(self).seats

    @property
    def _is_in_python(self) -> bool:
        return self.id in self._dataset._in_python

    @cached_property
    def actions(self) -> NDArray[np.int64]:
        """The actions, `[tick, seat]`."""
        return self._by_seat("action", np.int64)

    @cached_property
    def rewards(self) -> NDArray[np.float32]:
        """The rewards, `[tick, seat]`."""
        return self._by_seat("reward", np.float32)

    @cached_property
    def is_human(self) -> NDArray[np.bool_]:
        """True where a person played, `[tick, seat]`."""
        steps = self.steps
        human = np.zeros((self.ticks, self.seats), bool)
        human[steps["tick"].to_numpy(), steps["seat"].to_numpy()] = steps["controller"] == "human"
        return human

    def world(self) -> _coplay.World:
        """The environment at its first state."""
        world = _coplay.World(self._dataset._source(self), json.dumps(self.params))
        world.reset(self.seed)
        return world

    def replay(self) -> Iterator[_coplay.World]:
        """The environment in every state: the first one, and the state after each tick.

        Raises `ValueError` at the end if the simulation has another score than the recording.
        """
        world = self.world()
        yield world
        for row in self.actions:
            world.step([int(action) for action in row])
            yield world
        if world.score() != self.score:
            raise ValueError(
                f"episode {self.id}: the simulation has score {world.score()}, the recording {self.score}; "
                "`coplay verify` says more"
            )

    def observations(self, seat: int) -> NDArray[np.float32]:
        """The observations of a seat, `[tick, value]`, one more than ticks: the last one follows the last action.

        The program `coplay` computes those of an environment in Python, at first for all episodes.
        """
        if self._is_in_python:
            rows = self._dataset._compute("features", self, seat)
            return np.array([row["observation"] for row in rows], np.float32)
        return np.stack([world.observe(seat) for world in self.replay()])

    def grids(self, seat: int) -> dict[str, NDArray[np.float32]]:
        """The fields of the observation of a seat with rows, columns and channels, by their names, each with the shape
        `[tick, ...]`: one more than ticks. Empty if the environment observes lists of features alone."""
        fields = [field for field in self._dataset._spec(self).observation if len(field.shape) >= 3]
        seen = self.observations(seat)
        return {field.name: seen[:, field.slice].reshape(-1, *field.shape) for field in fields}

    def pixels(self, seat: int | None = None, scale: int = 8) -> NDArray[np.uint8]:
        """The picture in every state, `[tick, row, column, channel]`, as a seat sees it, or all of it.

        The program `coplay` draws those of an environment in Python, at first for all episodes. They have the default
        scale, and are those of a seat; without one, `video` shows all of it.
        """
        if self._is_in_python:
            if seat is None or scale != 8:
                raise ValueError(f"the environment of episode {self.id} is a program in Python: name a seat, and no scale")
            rows = self._dataset._compute("pixels", self, seat)
            pictures = [np.frombuffer(row["pixels"], np.uint8).reshape(row["height"], row["width"], 3) for row in rows]
            return np.stack(pictures)
        return np.stack([world.pixels(scale, seat) for world in self.replay()])

    def states(self) -> list[bytes]:
        """The state before each tick and at the end, as `World.set_state` takes it up."""
        return [world.get_state([]) for world in self.replay()]

    def video(
        self,
        path: str | os.PathLike[str],
        *,
        seat: int | None = None,
        width: int = 480,
        speed: float = 1.0,
        first_tick: int = 0,
        last_tick: int | None = None,
    ) -> Path:
        """Writes the states as a GIF or an MP4, by the ending of `path`, equal to `coplay replay --gif` and `--mp4`.

        `seat` shows what a seat may see, instead of the whole world. `width` is in pixels, and met about. An episode that
        was played in turns shows one state a second at speed 1. MP4 needs the program `ffmpeg`, in `PATH` or named by
        `COPLAY_FFMPEG`. Raises `ValueError` for a file, size, speed or part that no video has.
        """
        last = self.ticks if last_tick is None else last_tick
        if not 0 <= first_tick <= last <= self.ticks:
            raise ValueError(f"first_tick {first_tick}, last_tick {last}: episode {self.id} has states 0 to {self.ticks}")
        if self._is_in_python:
            return self._order_video(Path(path), seat, width, speed, first_tick, last)
        states_hz = (1 if self._turns else max(1, self.tick_hz)) * speed
        video: _coplay.Video | None = None
        for tick, world in enumerate(self.replay()):
            if first_tick <= tick <= last:
                video = video or _coplay.Video(path, world, width, states_hz)
                video.add(world, seat)
        if video is not None:
            video.finish()
        return Path(path)

    def _order_video(
        self, path: Path, seat: int | None, width: int, speed: float, first_tick: int, last_tick: int
    ) -> Path:
        """Lets the program write the video of an environment in Python."""
        data = self._dataset._data
        if data is None:
            raise ValueError(
                f"the environment of episode {self.id} is a program in Python: open the data folder instead of the export"
            )
        kind = {".gif": "--gif", ".mp4": "--mp4"}.get(path.suffix.lower())
        if kind is None:
            raise ValueError(f"{path}: the name of a video ends in .gif or .mp4")
        part = ["--from", str(first_tick), "--to", str(last_tick), "--width", str(width), "--speed", str(speed)]
        view = [] if seat is None else ["--view", str(seat)]
        program = find_program(f"{data} has the environment in Python, which it runs")
        command = [program, "replay", self.id, "--data", str(data), kind, str(path), *part, *view]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise ValueError(f"`coplay replay` failed: {done.stderr.strip()}")
        return path

    def branch(self, tick: int, seat: int, with_: str | os.PathLike[str], runs: int = 1) -> Any:
        """Continues from the state after `tick` ticks with another controller of a seat; a data frame with a row per run.

        `with_` is a policy of Coplay, the path of an ONNX model, or an `Agent`. The rows have `seed`, `score`, `ticks`,
        `reward` (of the seat, from the branch on) and `outcome`, as `coplay branch --json` prints them; `attrs["recorded"]`
        has `score` and `ticks` of the episode as it was played. Needs a data folder or a crate, and the program `coplay`.
        Raises `RuntimeError` with the words of the program for a tick, seat or controller that there is not.
        """
        pandas = import_optional("pandas", "a data frame")
        data = self._dataset._data
        if data is None:
            raise ValueError("branches need the logs of episodes: open the data folder or the crate instead of the export")
        order = ["--data", str(data), "--tick", str(tick), "--seat", str(seat), "--runs", str(runs), "--json"]
        command = [find_program(f"{data} is continued by it"), "branch", self.id, *order, *_name_controller(with_)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"`coplay branch` failed: {done.stderr.strip()}")
        found = json.loads(done.stdout)
        frame = pandas.DataFrame(found["runs"])
        frame.attrs["recorded"] = found["recorded"]
        return frame

    def play(self, policy: Policy, seat: int | None = None) -> NDArray[np.float32]:
        """The probability of each action by a policy in the same states, `[tick, seat, action]`.

        With `seat` they are those of this seat, `[tick, action]`. `policy` is a policy of Coplay, the path of an ONNX model,
        an `Agent`, the controller of an AI partner as `steps` names it, or a function of an observation, which gives an
        action or the probabilities of all actions. The policy observes what the seat could observe from the first tick on,
        and remembers its own past; the actions are those that were played. An action that is certain has the probability
        1. A model has the exponentials of its values over their sum, at its temperature (at 1, if it takes the greatest
        value). Raises `ValueError` for a policy that does not play the environment.
        """
        spec = self._dataset._spec(self)
        seats = range(spec.seats) if seat is None else [seat]
        if seat is not None and not 0 <= seat < spec.seats:
            raise ValueError(f"seat: episode {self.id} has no seat {seat}")
        answers = np.zeros((self.ticks, len(seats), len(spec.actions)), np.float32)
        worlds = self.replay()
        asked: list[Callable[[_coplay.World], NDArray[np.float32]]] = []
        for tick, world in enumerate(worlds):
            if tick == 0:
                asked = [self._ask(policy, world, own, len(spec.actions)) for own in seats]
            if tick < self.ticks:
                answers[tick] = [ask(world) for ask in asked]
        return answers if seat is None else answers[:, 0]

    def _ask(
        self, policy: Policy, world: _coplay.World, seat: int, actions: int
    ) -> Callable[[_coplay.World], NDArray[np.float32]]:
        """A function that gives the probabilities of a policy in a seat, state by state."""
        if callable(policy):
            function = policy
            return lambda world: _as_shares(function(world.observe(seat)), actions)
        name = policy if isinstance(policy, str) else os.fspath(policy)
        compiled = None
        recorded = re.fullmatch(r".*@([0-9a-f]{64})", name)
        if recorded is not None:
            data = self._dataset._data
            file = None if data is None else data / "networks" / f"{recorded[1]}.network"
            if file is None or not file.is_file():
                raise ValueError(f"{name} is a model of the study, which its data folder stores: open that one")
            compiled = file.read_bytes()
        return _coplay.Shares(name, world, seat, self.seed, compiled).next


def _as_shares(answer: Any, actions: int) -> NDArray[np.float32]:
    """The answer of a function, an action or probabilities, as probabilities."""
    values = np.asarray(answer)
    if values.shape == ():
        shares = np.zeros(actions, np.float32)
        if not np.issubdtype(values.dtype, np.integer) or not 0 <= int(values) < actions:
            raise ValueError(f"policy: {answer!r} is no action; actions are 0 to {actions - 1}")
        shares[int(values)] = 1
        return shares
    if values.shape != (actions,):
        raise ValueError(f"policy: give an action or the probabilities of {actions} actions, not an array of shape {values.shape}")
    return values.astype(np.float32)


def _name_controller(policy: str | os.PathLike[str]) -> list[str]:
    """The arguments of `coplay branch` for a controller."""
    if not isinstance(policy, Agent):
        return ["--with", os.fspath(policy)]
    order = json.loads(policy)
    arguments = ["--with", order["model"], "--every-ticks", str(order["every_ticks"])]
    if order["temperature"] is not None:
        arguments += ["--temperature", str(order["temperature"])]
    return [*arguments, "--action-mask"] if order["action_mask"] else arguments
