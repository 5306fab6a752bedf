"""The facts of an environment: seats, actions, observation and pace, from the study, the environment or a default."""

from __future__ import annotations

import re
from typing import Any

from .adapters import Adapter
from .loading import list_packages
from .serve import Refusal
from .spaces import Observation, list_actions

MOST_SEATS = 16
DEFAULT_HZ = 10
DEFAULT_HORIZON = 36_000
"""Steps after which an episode ends if nobody says: ten minutes at 60 steps a second."""

NOOPS = ("noop", "no_op", "no-op", "stay", "none", "wait", "still", "nothing", "do_nothing")
"""Names of an action that does nothing."""

KEYS = {
    "up": ["ArrowUp", "KeyW"],
    "down": ["ArrowDown", "KeyS"],
    "left": ["ArrowLeft", "KeyA"],
    "right": ["ArrowRight", "KeyD"],
    "fire": ["Space"],
    "jump": ["Space"],
    "interact": ["Space"],
    "do": ["Space"],
}
"""Keys of actions with usual names; a study may map others."""

ATARI = (
    "noop fire up right left down upright upleft downright downleft "
    "upfire rightfire leftfire downfire uprightfire upleftfire downrightfire downleftfire"
).split()
"""The actions of the Atari 2600, in the order of the Arcade Learning Environment."""

MOMENTARY = ("interact", "jump", "do", "toggle", "pickup", "drop")
"""Names of actions that are presses rather than states that last."""


class Facts:
    """Everything about an environment that does not change."""

    def __init__(self, world: dict[str, Any], name: str, adapter: Adapter) -> None:
        self._world, self._adapter, self._name = world, adapter, name
        self.notes: list[str] = []
        seats = len(adapter.agents)
        wanted = world.get("seats")
        if not 1 <= seats <= MOST_SEATS or (wanted and int(wanted) != seats):
            raise Refusal(
                f"the environment has {seats} seats ({', '.join(adapter.agents)}), and the study says `seats: {wanted}`"
                if wanted
                else f"the environment has {seats} seats; 1 to {MOST_SEATS} can be played"
            )
        self._sets = [self._actions_of(seat) for seat in range(seats)]
        self._longest = max(self._sets, key=len)
        self.names = self._name_actions()
        self.noop = self._find_noop()
        self.observation = self._find_observation()
        self.horizon = int(self._say("horizon", self._limit_of_steps()))
        self.events = [str(kind) for kind in self.attribute("event_names") or []]
        self.components = [str(name) for name in self.attribute("component_names") or []]
        self.sprites = {str(name): str(svg) for name, svg in (self.attribute("sprites") or {}).items()}

    def attribute(self, name: str) -> Any:
        """An attribute of the environment, or of the one that its wrappers hold."""
        for env in (self._adapter.env, getattr(self._adapter.env, "unwrapped", None)):
            try:
                found = getattr(env, name, None)
            except Exception:
                found = None
            if found is not None:
                return found
        return None

    def _say(self, name: str, default: Any) -> Any:
        said = self._world.get(name)
        said = self.attribute(name) if said is None else said
        return default if said is None else said

    def _limit_of_steps(self) -> int:
        """The environment's own limit, in steps of the study."""
        own = getattr(self.attribute("spec"), "max_episode_steps", None)
        skip = int(self._world.get("frame_skip") or 1)
        return -(-int(own) // skip) if own else DEFAULT_HORIZON

    def _actions_of(self, seat: int) -> list[tuple[str | None, Any]]:
        space = self._adapter.action_space(seat)
        named = self._world.get("actions")
        if space is None and not named:
            names = self._say("action_names", None)
            if not names:
                raise Refusal("the environment has neither an `action_space` nor `action_names`")
            return [(str(name), action) for action, name in enumerate(names)]
        return list_actions(space, named)

    def _name_actions(self) -> list[str]:
        names = self._say("action_names", self._meanings())
        if names is not None and not self._world.get("actions"):
            if len(names) != len(self._longest):
                raise Refusal(f"there are {len(names)} `action_names` for {len(self._longest)} actions")
            return _distinct([str(name) for name in names])
        return _distinct([name or f"action_{at}" for at, (name, _) in enumerate(self._longest)])

    def _meanings(self) -> Any:
        """Names that the environment has in another form."""
        meanings = self.attribute("get_action_meanings")
        if callable(meanings):
            return meanings()
        # PettingZoo's Atari games number their actions among those of the machine.
        mapping = self.attribute("action_mapping")
        try:
            return [ATARI[int(action)] for action in mapping]
        except (IndexError, TypeError, ValueError):
            return None

    def _find_noop(self) -> int:
        said = self._say("noop", None)
        if said is not None:
            return self.action_of(said)
        for at, name in enumerate(self.names):
            if name in NOOPS:
                return at
        if self._adapter.turns:
            self.names = [*self.names, "wait"]
            return len(self.names) - 1
        first = self.names[0]
        self.notes.append(f"no action is named as doing nothing, so `{first}` is taken when no key is held: set `noop`")
        return 0

    def is_wait(self, action: int) -> bool:
        """Checks whether an action is the waiting that the host added; the environment does not see it."""
        return action >= len(self._longest)

    def value_of(self, seat: int, action: int) -> Any:
        """The environment's own action for the number of one."""
        own = self._sets[seat]
        if action < len(own):
            return own[action][1]
        return own[self.noop if self.noop < len(own) else 0][1]

    def action_of(self, said: Any) -> int:
        """The number of an action that a name or a number says."""
        if isinstance(said, str):
            if said not in self.names:
                raise Refusal(f"there is no action `{said}`; there are {', '.join(self.names)}")
            return self.names.index(said)
        if not 0 <= int(said) < len(self.names):
            raise Refusal(f"there is no action {said}; there are {len(self.names)}")
        return int(said)

    def _find_observation(self) -> Observation:
        adapter = self._adapter
        plans = [
            Observation(adapter.observation_space(seat), observation)
            for seat, observation in enumerate(adapter.observations)
            if observation is not None
        ]
        if not plans:
            raise Refusal("`reset` gave no observation")
        if any(plan.fields != plans[0].fields for plan in plans):
            shapes = [[(field["name"], field["shape"]) for field in plan.fields] for plan in plans]
            if any(shape != shapes[0] for shape in shapes):
                raise Refusal(
                    "the seats observe different things, and a study needs one form for all: "
                    "pad them, for example with SuperSuit's `pad_observations_v0` under `wrappers:`"
                )
        for name in sorted({name for plan in plans for name in plan.left_out}):
            self.notes.append(f"the part `{name}` of the observation is not made of numbers, and was left out")
        return plans[0]

    def _pace(self) -> int:
        said = self._say("tick_hz", None)
        if said is not None:
            return int(said)
        if self._adapter.turns:
            return 0
        own = (self.attribute("metadata") or {}).get("render_fps")
        if not own:
            self.notes.append(f"nothing says how fast it is played, so {DEFAULT_HZ} steps a second: set `tick_hz`")
        return int(own or DEFAULT_HZ)

    def _keys(self, name: str, at: int) -> list[str]:
        keys = self._say("keys", None)
        own = keys.get(name) if isinstance(keys, dict) else None
        if own is None and at == self.noop:
            return []
        if own is not None:
            return [own] if isinstance(own, str) else [str(key) for key in own]
        words = re.split(r"[ _]", name)
        if words[-1] in KEYS and (len(words) == 1 or words[0] in ("move", "go", "turn")):
            return KEYS[words[-1]]
        if name in ATARI:
            return [_chord(name)]
        return [f"Digit{at + 1}"] if name == f"action_{at}" and at < 9 and at != self.noop else []

    def _find_directives(self) -> set[str]:
        """The actions that the environment carries out over several steps."""
        directives = {str(name) for name in self.attribute("directives") or []}
        unknown = sorted(directives - set(self.names))
        if unknown:
            raise Refusal(f"the directive `{unknown[0]}` is no action; there are {', '.join(self.names)}")
        return directives

    def _reward_range(self) -> list[float] | None:
        own = self.attribute("reward_range")
        try:
            low, high = (float(bound) for bound in own)
        except (TypeError, ValueError):
            return None
        return [low, high] if abs(low) < 1e30 and abs(high) < 1e30 else None

    def _version(self, packages: dict[str, str]) -> str:
        own = self.attribute("version")
        if own is not None:
            return str(own)
        source = next((sha256[:12] for file, sha256 in packages.items() if file == f"{self._name}.py"), None)
        return source or (self._name.rpartition("-")[2] if "-v" in self._name else "1")

    def answer(self) -> dict[str, Any]:
        """The facts as the protocol sends them."""
        packages = list_packages(self._world)
        momentary = set(self.attribute("momentary") or MOMENTARY)
        directives = self._find_directives()
        actions = [
            {
                "name": name,
                "momentary": name in momentary or name in directives,
                "keys": self._keys(name, at),
                "directive": name in directives,
            }
            for at, name in enumerate(self.names)
        ]
        lengths = {len(own) for own in self._sets}
        waits = [len(self._longest)] if len(self.names) > len(self._longest) else []
        sets = [[*range(len(own)), *waits] for own in self._sets] if len(lengths) > 1 else []
        spec = {
            "id": self._name,
            "version": self._version(packages),
            "title": str(self._say("title", self._name)),
            "seats": len(self._sets),
            "actions": actions,
            "noop": self.noop,
            "observation": self.observation.fields,
            "tick_hz": self._pace(),
            "horizon": self.horizon,
            "events": self.events,
            "seat_actions": sets,
            "reward_range": self._reward_range(),
            "components": self.components,
            "perfect_information": bool(self._say("perfect_information", False)),
            "secret": bool(self.attribute("secret")),
            "pointer": callable(self.attribute("point")),
        }
        sprites = [{"name": name, "svg": svg} for name, svg in self.sprites.items()]
        return {
            "spec": spec,
            "sprites": sprites,
            "agents": self._adapter.agents,
            "packages": packages,
            "notes": self.notes,
        }


def _chord(name: str) -> str:
    """The keys that are held together for an action such as `uprightfire`."""
    parts = [part for part in ("up", "down", "left", "right", "fire") if part in name]
    return "+".join(KEYS[part][0] for part in parts)


def _distinct(names: list[str]) -> list[str]:
    """Names in the form of action names: lower case, without spaces, none twice."""
    plain = [re.sub(r"[^a-z0-9_]+", "_", name.lower()).strip("_") or f"action_{at}" for at, name in enumerate(names)]
    return [name if plain.count(name) == 1 else f"{name}_{at}" for at, name in enumerate(plain)]
