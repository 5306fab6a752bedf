"""Environments in JAX whose state is a value: those with Gymnax's functions, and those of XLand-MiniGrid.

Their functions are compiled once, when the environment is loaded, so that no step of an episode waits for it.
"""

from __future__ import annotations

from typing import Any

from .adapters import Adapter


class FunctionalAdapter(Adapter):
    """`reset(key, params)` and `step(key, state, action, params)`, as Gymnax and Craftax have them: one seat."""

    def __init__(self, env: Any) -> None:
        import jax

        super().__init__(env, ["player"])
        self._jax = jax
        self._params = env.default_params
        self._reset, self._step = jax.jit(env.reset), jax.jit(env.step)
        self._state: Any = None
        self._key: Any = None

    def action_space(self, seat: int) -> Any:
        return self.env.action_space(self._params)

    def observation_space(self, seat: int) -> Any:
        return self.env.observation_space(self._params)

    def reset(self, seed: int) -> None:
        self._key, key = self._jax.random.split(self._jax.random.PRNGKey(seed))
        self.observations[0], self._state = self._reset(key, self._params)

    def step(self, actions: list[Any]) -> None:
        self._key, key = self._jax.random.split(self._key)
        observation, self._state, reward, done, info = self._step(key, self._state, actions[0], self._params)
        self.observations[0], self.infos[0] = observation, info
        self.rewards[0] += float(reward)
        self.over = bool(done)
        self.terminated = int(self.over)

    def render(self) -> Any:
        """The observation, if it is a picture."""
        shape: Any = getattr(self.observations[0], "shape", ())
        return self.observations[0] if len(shape) == 3 and shape[2] in (1, 3, 4) else None

    def subject(self) -> Any:
        return self._state


class TimestepAdapter(Adapter):
    """`reset(params, key)` and `step(params, timestep, action)`, as XLand-MiniGrid has them: one seat."""

    def __init__(self, env: Any, params: Any) -> None:
        import jax

        super().__init__(env, ["player"])
        self._jax, self._params = jax, params
        self._reset, self._step = jax.jit(env.reset), jax.jit(env.step)
        self._timestep: Any = None

    def action_space(self, seat: int) -> Any:
        return _Choices(int(self.env.num_actions(self._params)))

    def observation_space(self, seat: int) -> Any:
        return None

    def reset(self, seed: int) -> None:
        self._take(self._reset(self._params, self._jax.random.PRNGKey(seed)))

    def step(self, actions: list[Any]) -> None:
        self._take(self._step(self._params, self._timestep, actions[0]))
        self.rewards[0] += float(self._timestep.reward)
        self.over = bool(self._timestep.last())
        ended = self.over and float(self._timestep.discount) == 0.0
        self.terminated, self.truncated = int(ended), int(self.over and not ended)

    def _take(self, timestep: Any) -> None:
        self._timestep = timestep
        self.observations[0] = timestep.observation

    def render(self) -> Any:
        return self.env.render(self._params, self._timestep)

    def subject(self) -> Any:
        return self._timestep


class _Choices:
    """A space of `n` actions."""

    def __init__(self, n: int) -> None:
        self.n = n


_Choices.__name__ = "Discrete"
