"""The APIs of environments in one form: all seats together, by number.

Each adapter keeps, after `reset` and `step`, the observation and the info of every seat, the rewards of the step,
and who has come to an end.
"""

from __future__ import annotations

from typing import Any

from .serve import Refusal


class Adapter:
    """An environment as the host steps it."""

    env: Any
    agents: list[str]
    """The names that the environment gives its seats."""
    turns = False
    """True if one seat acts at a time."""

    def __init__(self, env: Any, names: list[Any]) -> None:
        self.env, self._names = env, names
        self.agents = [str(name) for name in names]
        agents = self.agents
        self.observations: list[Any] = [None] * len(agents)
        self.infos: list[Any] = [{} for _ in agents]
        self.begin_step()

    def begin_step(self) -> None:
        """Forgets the last step's result."""
        self.rewards = [0.0] * len(self.agents)
        self.terminated = self.truncated = 0
        self.over = False

    def action_space(self, seat: int) -> Any:
        """The action space of a seat; `None` if the environment only names its actions."""
        return _of_agent(self.env, "action_space", self._names[seat])

    def observation_space(self, seat: int) -> Any:
        """The observation space of a seat; `None` if there is none."""
        try:
            return _of_agent(self.env, "observation_space", self._names[seat])
        except (AttributeError, KeyError, NotImplementedError):
            # The observations themselves show their shapes.
            return None

    def acting(self) -> int:
        """The seats whose actions count next, a bit each."""
        return (1 << len(self.agents)) - 1

    def reset(self, seed: int) -> None:
        """Starts an episode."""
        raise NotImplementedError

    def step(self, actions: list[Any]) -> None:
        """Makes one step with an action for each seat, and adds to the rewards."""
        raise NotImplementedError

    def render(self) -> Any:
        """The environment's own picture; `None` if it has none."""
        render = getattr(self.env, "render", None)
        try:
            return render() if callable(render) else None
        except NotImplementedError:
            return None

    def subject(self) -> Any:
        """The thing that a picture function of the study gets."""
        return self.env


def _of_agent(env: Any, name: str, agent: Any) -> Any:
    method = getattr(env, name, None)
    if callable(method):
        return method(agent)
    whole = getattr(env, f"{name}s", None)
    return whole.get(agent) if isinstance(whole, dict) else method


class SingleAdapter(Adapter):
    """A Gymnasium environment: one seat."""

    def __init__(self, env: Any) -> None:
        super().__init__(env, ["player"])

    def action_space(self, seat: int) -> Any:
        return getattr(self.env, "action_space", None)

    def observation_space(self, seat: int) -> Any:
        return getattr(self.env, "observation_space", None)

    def reset(self, seed: int) -> None:
        self.observations[0], self.infos[0] = _pair(self.env.reset(seed=seed))

    def step(self, actions: list[Any]) -> None:
        result = self.env.step(actions[0])
        if len(result) != 5:
            raise Refusal(
                f"`step` returned {len(result)} values; Gymnasium's returns five: "
                "observation, reward, terminated, truncated, info"
            )
        self.observations[0], reward, terminated, truncated, self.infos[0] = result
        self.rewards[0] += float(reward)
        self.terminated, self.truncated = int(bool(terminated)), int(bool(truncated))
        self.over = bool(terminated) or bool(truncated)


class ParallelAdapter(Adapter):
    """A PettingZoo environment whose agents all act at the same time."""

    def __init__(self, env: Any) -> None:
        super().__init__(env, list(env.possible_agents))

    def reset(self, seed: int) -> None:
        observations, infos = _pair(self.env.reset(seed=seed))
        self._take(observations, infos)

    def step(self, actions: list[Any]) -> None:
        live = set(getattr(self.env, "agents", self._names))
        chosen = {name: action for name, action in zip(self._names, actions, strict=True) if name in live}
        observations, rewards, terminations, truncations, infos = self.env.step(chosen)
        self._take(observations, infos)
        for seat, name in enumerate(self._names):
            self.rewards[seat] += float(rewards.get(name, 0.0))
            self.terminated |= bool(terminations.get(name)) << seat
            self.truncated |= bool(truncations.get(name)) << seat
        left = getattr(self.env, "agents", None)
        ended = [bool(terminations.get(name)) or bool(truncations.get(name)) for name in self._names]
        self.over = not left if left is not None else all(ended)
        self.over = self.over or all(ended)

    def acting(self) -> int:
        live = set(getattr(self.env, "agents", self._names))
        return sum(1 << seat for seat, name in enumerate(self._names) if name in live)

    def _take(self, observations: Any, infos: Any) -> None:
        for seat, name in enumerate(self._names):
            if name in observations:
                self.observations[seat] = observations[name]
            self.infos[seat] = (infos or {}).get(name, {})


class TurnAdapter(Adapter):
    """A PettingZoo environment of which one agent acts at a time."""

    turns = True

    def __init__(self, env: Any) -> None:
        super().__init__(env, list(env.possible_agents))

    def reset(self, seed: int) -> None:
        self.env.reset(seed=seed)
        self._observe()

    def step(self, actions: list[Any]) -> None:
        if not self.env.agents:
            return
        before = set(self.env.agents)
        self.env.step(actions[self._names.index(self.env.agent_selection)])
        for seat, name in enumerate(self._names):
            self.rewards[seat] += float(self.env.rewards.get(name, 0.0))
            if name in before:
                self.terminated |= bool(self.env.terminations.get(name)) << seat
                self.truncated |= bool(self.env.truncations.get(name)) << seat
        self._observe()
        while self.env.agents and self._is_dead(self.env.agent_selection):
            self.env.step(None)
        self.over = not self.env.agents

    def acting(self) -> int:
        return 1 << self._names.index(self.env.agent_selection) if self.env.agents else 0

    def _is_dead(self, name: Any) -> bool:
        return bool(self.env.terminations[name]) or bool(self.env.truncations[name])

    def _observe(self) -> None:
        for seat, name in enumerate(self._names):
            if name in self.env.agents:
                self.observations[seat] = self.env.observe(name)
                self.infos[seat] = self.env.infos.get(name, {})


def _pair(result: Any) -> tuple[Any, Any]:
    if isinstance(result, tuple) and len(result) == 2:
        return result
    raise Refusal("`reset` has to return two values: the observation and an info (PettingZoo: a dict of each)")


def adapt(made: Any) -> Adapter:
    """The adapter for what a researcher's function made."""
    if isinstance(made, tuple) and len(made) == 2:
        from .functional import TimestepAdapter

        return TimestepAdapter(*made)
    if hasattr(made, "default_params") and not hasattr(made, "possible_agents"):
        from .functional import FunctionalAdapter

        return FunctionalAdapter(made)
    if not (callable(getattr(made, "reset", None)) and callable(getattr(made, "step", None))):
        raise Refusal(
            f"{type(made).__name__} is no environment: it needs `reset` and `step`, "
            "as Gymnasium's `Env` or PettingZoo's `ParallelEnv` and `AECEnv` have them"
        )
    if not hasattr(made, "possible_agents"):
        return SingleAdapter(made)
    return TurnAdapter(made) if hasattr(made, "agent_iter") else ParallelAdapter(made)
