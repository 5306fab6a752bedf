"""A world as the protocol asks for it: an adapter with seats, scores, masks, hashes and pictures."""

from __future__ import annotations

import json
import math
import random
import struct
from typing import Any

from .adapters import Adapter, adapt
from .facts import Facts
from .loading import find, make_environment
from .pictures import encode_pixels, encode_shapes, list_shapes
from .serve import Refusal
from .spaces import np

HEAD = struct.Struct("<BBHHHq")
SEAT = struct.Struct("<fqQQ")
EVENT = struct.Struct("<HBBf")
Event = tuple[int, int, int, float]
"""Kind, the seat that caused it, the seat to which it happened, how much."""

NOBODY = 0xFF
ALL_ACTIONS = (1 << 64) - 1
LONGEST_INFO = 4_000
"""Characters of an info's JSON, at most."""


def open_world(world: dict[str, Any]) -> World:
    """Loads the environment that a study names."""
    name, env = make_environment(world)
    return World(world, name, adapt(env))


class World:
    """One environment, and everything that the program may ask of it."""

    def __init__(self, world: dict[str, Any], name: str, adapter: Adapter) -> None:
        self.config, self.adapter = world, adapter
        _seed_globals(0)
        adapter.reset(0)
        self._facts = Facts(world, name, adapter)
        self.seats = len(adapter.agents)
        self._skip = int(world.get("frame_skip") or 1)
        self._points = float(world.get("points") or 1)
        self._named = [str(info) for info in world.get("infos") or []]
        self._draw = self._find_picture()
        self._choose = find(world["policy"], world, "choose") if world.get("policy") else None
        self._warm_up()

    def _warm_up(self) -> None:
        """Steps once, so that what is compiled or loaded late is there before anybody waits for it."""
        self.reset(0)
        self.step([self._facts.noop] * self.seats)
        self.picture(0)

    def facts(self) -> dict[str, Any]:
        """The facts of the protocol's answer to a hello."""
        return self._facts.answer()

    def reset(self, seed: int) -> list[bytes]:
        """Starts the episode of a seed."""
        self.begin_episode(seed)
        return self._stepped([])

    def begin_episode(self, seed: int) -> None:
        """Starts the episode of a seed."""
        seed = (seed ^ (seed >> 33)) & 0x7FFF_FFFF
        _seed_globals(seed)
        self.adapter.begin_step()
        self.adapter.reset(seed)
        self._totals = [0.0] * self.seats
        self._parts = self._no_parts()
        self.steps = 0

    def step(self, actions: Any) -> list[bytes]:
        """Makes one step of the study."""
        return self._stepped(self.play_step(actions))

    def play_step(self, actions: Any) -> list[Event]:
        """Makes one step of the study, as many of the environment as its `frame_skip` says; gives its events."""
        adapter, facts = self.adapter, self._facts
        adapter.begin_step()
        chosen = [facts.value_of(seat, action) for seat, action in enumerate(actions)]
        waits = adapter.turns and any(self._is_wait(seat, action) for seat, action in enumerate(actions))
        events: list[Event] = []
        self._parts = self._no_parts()
        for _ in range(0 if waits else self._skip):
            adapter.step(chosen)
            self._collect_events(events)
            self._collect_parts()
            if adapter.over:
                break
        self.steps += 1
        self._totals = [total + reward for total, reward in zip(self._totals, adapter.rewards, strict=True)]
        if not all(map(math.isfinite, self._totals)):
            raise ValueError(f"a reward is no finite number: {adapter.rewards}")
        self._check_parts()
        if self.steps >= facts.horizon and not adapter.over:
            adapter.truncated, adapter.over = (1 << self.seats) - 1, True
        return events

    def _is_wait(self, seat: int, action: int) -> bool:
        """Checks whether a seat in turn leaves the environment as it is: it waits, or its action is not legal."""
        if not self.adapter.acting() >> seat & 1:
            return False
        return self._facts.is_wait(action) or (action < 64 and not self._mask(seat, 1 << seat) >> action & 1)

    def counts(self) -> tuple[list[float], int]:
        """The parts of the state that are not the environment's: rewards and steps so far."""
        return self._totals, self.steps

    def set_counts(self, counts: tuple[list[float], int]) -> None:
        """Goes on from a state that was brought back."""
        self._totals, self.steps = counts
        self._draw = self._find_picture()

    def _stepped(self, events: list[Event]) -> list[bytes]:
        adapter, facts = self.adapter, self._facts
        acting = 0 if adapter.over else adapter.acting()
        parts = [
            HEAD.pack(
                adapter.over, self.seats, acting, adapter.terminated & 0xFFFF, adapter.truncated & 0xFFFF, self.score()
            )
        ]
        for seat, reward in enumerate(adapter.rewards):
            observed = facts.observation.hash(adapter.observations[seat])
            parts.append(SEAT.pack(reward, self.seat_score(seat), self._mask(seat, acting), observed))
        parts.append(struct.pack("<H", len(events)))
        parts += [EVENT.pack(*event) for event in events]
        parts.append(self.pack_components())
        parts.append(self._infos())
        return parts

    def score(self) -> int:
        """The score of the group."""
        return self._scored("score", sum(self._totals))

    def seat_score(self, seat: int) -> int:
        """The score of a seat."""
        return self._scored("seat_score", self._totals[seat], seat)

    def mask(self, seat: int) -> int:
        """The actions that may have an effect for a seat, a bit each."""
        return self._mask(seat, 0 if self.adapter.over else self.adapter.acting())

    def _scored(self, name: str, total: float, *seat: int) -> int:
        """The environment's own score if it has one, otherwise the rewards so far."""
        own = self._facts.attribute(name)
        value = total * self._points if own is None else own(*seat) if callable(own) else own
        return round(float(value))

    def _mask(self, seat: int, acting: int) -> int:
        facts = self._facts
        if not acting >> seat & 1:
            return 1 << min(facts.noop, 63)
        info, observation = self.adapter.infos[seat], self.adapter.observations[seat]
        mask = info.get("action_mask") if isinstance(info, dict) else None
        if mask is None and isinstance(observation, dict):
            mask = observation.get("action_mask")
        if mask is None:
            return ALL_ACTIONS
        bits = sum(1 << action for action, legal in enumerate(mask) if action < 64 and legal)
        return bits | 1 << min(facts.noop, 63)

    def _collect_events(self, events: list[Event]) -> None:
        names = self._facts.events
        for seat, info in enumerate(self.adapter.infos if names else []):
            for event in info.get("events") or []:
                if event["kind"] not in names:
                    raise Refusal(f"the event {event['kind']!r} is none of `event_names`, which are {names}")
                to = event.get("to")
                kind, who = names.index(event["kind"]), int(event.get("seat", seat))
                events.append((kind, who, NOBODY if to is None else int(to), float(event.get("value", 1))))

    def _no_parts(self) -> list[list[float]]:
        return [[0.0] * len(self._facts.components) for _ in range(self.seats)]

    def _collect_parts(self) -> None:
        """Adds the parts of the rewards that the infos of a step name."""
        names = self._facts.components
        for seat, info in enumerate(self.adapter.infos if names else []):
            for name, value in (info.get("components") or {}).items():
                if name not in names:
                    raise Refusal(f"the component {name!r} is none of `component_names`, which are {names}")
                self._parts[seat][names.index(name)] += float(value)

    def _check_parts(self) -> None:
        """Refuses parts of a reward that do not add up to it."""
        if not self._facts.components:
            return
        for seat, (parts, reward) in enumerate(zip(self._parts, self.adapter.rewards, strict=True)):
            if not abs(sum(parts) - reward) <= 1e-5 * (1 + abs(reward)):
                raise ValueError(f"the components of seat {seat} add up to {sum(parts)}, and its reward is {reward}")

    def pack_components(self) -> bytes:
        """The parts of the rewards of the last step: all of seat 0, then those of seat 1, and so on."""
        flat = [part for parts in self._parts for part in parts]
        return struct.pack(f"<{len(flat)}f", *flat)

    def _infos(self) -> bytes:
        if not self._named:
            return b""
        rows = [
            [seat, name, _plain(info[name])]
            for seat, info in enumerate(self.adapter.infos)
            for name in self._named
            if isinstance(info, dict) and name in info
        ]
        return json.dumps(rows).encode()

    def _find_picture(self) -> Any:
        """The function that gives a seat's picture."""
        wanted = self.config.get("render", "auto")
        if wanted not in ("auto", "rgb_array", "draw"):
            raise Refusal(f"`render` is auto, rgb_array or draw, and not {wanted!r}")
        if self.config.get("picture"):
            function = find(self.config["picture"], self.config, "picture")
            return lambda seat: function(self.adapter.subject())
        draw = self._facts.attribute("draw")
        if callable(draw) and wanted != "rgb_array":
            return draw
        if wanted == "draw":
            raise Refusal("`render: draw` needs an environment with a method `draw(self, seat)`; this one has none")
        return lambda seat: self.adapter.render()

    def picture(self, seat: int) -> Any:
        """Shapes as the protocol's JSON, pixels, or `None` if the environment gives no picture."""
        picture = self._draw(seat)
        if picture is None:
            return None
        if _is_pixels(picture):
            return encode_pixels(picture)
        return encode_shapes(_as_shapes(picture), list(self._facts.sprites))

    def page_picture(self, seat: int) -> dict[str, Any] | tuple[int, int, Any]:
        """The picture of a seat, for a page that steps the environment itself: shapes; or width, height and RGB bytes."""
        picture = self._draw(seat)
        if picture is None:
            picture = self.describe(seat) or f"Step {self.steps}"
        elif _is_pixels(picture):
            return encode_pixels(picture)
        return list_shapes(_as_shapes(picture), list(self._facts.sprites))

    def observe(self, seat: int) -> bytes:
        """The observation of a seat, as numbers."""
        return self._facts.observation.floats(self.adapter.observations[seat])

    def describe(self, seat: int) -> str:
        """The state in words."""
        describe = self._facts.attribute("describe")
        return str(describe(seat)) if callable(describe) else ""

    def point(self, seat: int, x: float, y: float) -> int | None:
        """The action that a point on the picture means."""
        point = self._facts.attribute("point")
        action = point(seat, x, y) if callable(point) else None
        return None if action is None else self._facts.action_of(action)

    def choose(self, seat: int) -> int:
        """The action that the researcher's own function chooses."""
        if self._choose is None:
            raise Refusal("the study names no function that chooses actions: `policy: my_game.py:choose`")
        return self._facts.action_of(self._choose(self.adapter.observations[seat], seat))


def _seed_globals(seed: int) -> None:
    """Seeds the generators that environments without their own generator use."""
    random.seed(seed)
    if np is not None:
        np.random.seed(seed)


def _is_pixels(picture: Any) -> bool:
    if isinstance(picture, list):
        return bool(picture) and not isinstance(picture[0], dict)
    return not isinstance(picture, (dict, str))


def _as_shapes(picture: Any) -> Any:
    """A picture of words as shapes; one of shapes as it is."""
    if not isinstance(picture, str):
        return picture
    lines = [{"text": line, "at": [8, row + 0.5]} for row, line in enumerate(picture.splitlines())]
    return {"width": 16, "height": max(1, len(lines)), "shapes": lines}


def _plain(value: Any) -> Any:
    """A value as JSON, or as its own words if it is none or is long."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    try:
        return value if len(json.dumps(value, allow_nan=False)) <= LONGEST_INFO else str(value)[:LONGEST_INFO]
    except (TypeError, ValueError):
        return str(value)[:LONGEST_INFO]
