"""All seats of an environment as a PettingZoo `ParallelEnv`."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Any

import gymnasium
import numpy as np
from gymnasium.utils import seeding
from numpy.typing import NDArray
from pettingzoo import ParallelEnv as Base

from coplay._hosted import Hosted, action_index
from coplay.env import Observation


class ParallelEnv(Hosted, Base):  # type: ignore[misc]  # PettingZoo ships no types
    """All seats of an environment, as agents `seat_0`, `seat_1` and so on.

    `infos[agent]` is as in `coplay.Env`, for the agent's seat.
    """

    _kept = ("agents", "action_spaces", "observation_spaces", "_np_random", "_started", "_seed")

    def __init__(
        self, id: str | PathLike[str], *, render_mode: str | None = None, **params: Any
    ) -> None:
        """Opens an environment by its id, or the module of someone else by its path (`*.wasm`)."""
        self._open(id, params, render_mode)
        self.metadata["is_parallelizable"] = True
        self._arguments = {"id": id, "render_mode": render_mode, **params}
        self.possible_agents = [f"seat_{seat}" for seat in range(self.world_spec.seats)]
        self.agents: list[str] = []
        spec = self.world_spec
        self.observation_spaces = {agent: spec.observation_space() for agent in self.possible_agents}
        self.action_spaces = {agent: spec.action_space() for agent in self.possible_agents}
        self._np_random: np.random.Generator | None = None

    def observation_space(self, agent: str) -> gymnasium.spaces.Box:
        """The space of an agent's observations; the same object each time."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> gymnasium.spaces.Discrete:
        """The space of an agent's actions; the same object each time."""
        return self.action_spaces[agent]

    @property
    def state_space(self) -> gymnasium.spaces.Box:
        """The space of `state()`."""
        one = self.world_spec.observation_space()
        seats = self.world_spec.seats
        return gymnasium.spaces.Box(np.tile(one.low, seats), np.tile(one.high, seats), dtype=np.float32)

    def state(self) -> Observation:
        """The observations of all seats, one after the other: for a critic that sees everything."""
        seats = range(self.world_spec.seats)
        return np.concatenate([self._world.observe(seat) for seat in seats])

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Observation], dict[str, dict[str, Any]]]:
        """Starts an episode: that of a seed, or else the next of the stream that the last seed began."""
        if seed is not None or self._np_random is None:
            self._np_random, _ = seeding.np_random(seed)
        self._begin(seed, self._np_random)
        self.agents = self.possible_agents[:]
        self._show()
        return self._observations(self.agents), self._infos(self.agents, self._no_events())

    def step(
        self, actions: Mapping[str, Any]
    ) -> tuple[
        dict[str, Observation],
        dict[str, float],
        dict[str, bool],
        dict[str, bool],
        dict[str, dict[str, Any]],
    ]:
        """Advances by one step, with an action for each agent that still plays."""
        if self._started and not self.agents:
            return {}, {}, {}, {}, {}
        self._check_running()
        agents = self.agents
        rewards, terminated, truncated, over, events = self._world.step(self._actions(actions))
        seats = [(agent, self.possible_agents.index(agent)) for agent in agents]
        terminations = {agent: bool(terminated >> seat & 1) for agent, seat in seats}
        truncations = {
            agent: bool(truncated >> seat & 1) or (over and not terminations[agent])
            for agent, seat in seats
        }
        self.agents = [
            agent for agent in agents if not (terminations[agent] or truncations[agent])
        ]
        self._show()
        return (
            self._observations(agents),
            {agent: rewards[seat] for agent, seat in seats},
            terminations,
            truncations,
            self._infos(agents, events),
        )

    def _actions(self, actions: Mapping[str, Any]) -> list[int]:
        """The actions by seat; seats that play no more do nothing."""
        for agent in actions:
            if agent not in self.possible_agents:
                known = ", ".join(self.possible_agents)
                raise ValueError(f"actions: there is no agent {agent!r}; there is: {known}")
        by_seat = [self.world_spec.noop] * self.world_spec.seats
        for agent in self.agents:
            if agent not in actions:
                raise ValueError(f"actions: none is given for {agent!r}, which still plays")
            by_seat[self.possible_agents.index(agent)] = action_index(actions[agent])
        return by_seat

    def _observations(self, agents: list[str]) -> dict[str, Observation]:
        return {agent: self._world.observe(self.possible_agents.index(agent)) for agent in agents}

    def _infos(self, agents: list[str], events: Observation) -> dict[str, dict[str, Any]]:
        components = self._world.components()
        seats = [(agent, self.possible_agents.index(agent)) for agent in agents]
        return {agent: self._info_of(seat, events, components) for agent, seat in seats}

    def get_state(self) -> bytes:
        """The episode on its way: the world and the seeds to come."""
        return self._world.get_state([])

    def set_state(self, state: bytes) -> None:
        """Takes up what `get_state` gave, here or in any environment with the same parameters."""
        self._take_up(state)
        self._started = True
        self.agents = [] if self._world.over else self.possible_agents[:]

    def _take_up(self, state: bytes) -> None:
        self._world.set_state(state)

    def __enter__(self) -> ParallelEnv:
        """Gives the environment itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Closes it."""
        self.close()
