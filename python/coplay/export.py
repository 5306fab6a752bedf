"""Policies of other libraries as ONNX models that people can play with, in one call each.

Each function writes a file, checks that onnxruntime agrees with the policy where it is installed, and gives
the path. The libraries are imported when a function is called.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["flax", "stable_baselines3", "torch"]

Shape = Sequence[int]


def stable_baselines3(
    model: Any, path: str | PathLike[str], *, observation_scale: str | None = None
) -> Path:
    """Exports a policy of Stable-Baselines3 or its contrib package: PPO, A2C, DQN, MaskablePPO, …

    Its output are the logits, or the values of the actions of DQN. `ValueError` for RecurrentPPO, whose memory needs
    `torch`.
    """
    nn = _library("torch", "pip install torch").nn
    policy = model.policy
    if hasattr(policy, "lstm_actor"):
        raise ValueError(
            f"{type(model).__name__} has a memory, which this call would leave out; export it with "
            "`export.torch(module, path, observation, memory=[…])` and a module that gives the memory of the next step"
        )

    class Logits(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.policy = policy

        def forward(self, obs: Any) -> Any:
            if hasattr(policy, "q_net"):
                return policy.q_net(obs)
            features = policy.extract_features(obs, policy.pi_features_extractor)
            return policy.action_net(policy.mlp_extractor.forward_actor(features))

    if not (hasattr(policy, "q_net") or hasattr(policy, "action_net")):
        raise ValueError(
            f"{type(model).__name__} has no discrete actions; train PPO, A2C or DQN on the environment"
        )
    shape = model.observation_space.shape
    return torch(Logits(), path, shape, observation_scale=observation_scale)


def torch(
    module: Any,
    path: str | PathLike[str],
    observation: Shape,
    *,
    memory: Sequence[Shape] = (),
    action_mask: int = 0,
    observation_scale: str | None = None,
) -> Path:
    """Exports a torch module `(observation, *memory[, action_mask]) -> (logits, *memory)`.

    `observation` and `memory` are shapes without the batch. Modules of CleanRL's form, with an `actor`
    beside a `critic`, are taken as they are. `action_mask` is the number of actions, if the module takes
    a mask of them.
    """
    lib = _library("torch", "pip install torch")
    actor = getattr(module, "actor", None)
    forward = _cleanrl(lib, module, actor) if actor is not None and not memory else module
    forward.eval()
    names = ["obs", *(f"memory_{at}" for at in range(len(memory)))]
    given = [lib.zeros(1, *observation), *(lib.zeros(1, *shape) for shape in memory)]
    if action_mask:
        names.append("action_mask")
        given.append(lib.ones(1, action_mask))
    outputs = ["logits", *(f"memory_{at}_next" for at in range(len(memory)))]
    path = Path(path)
    lib.onnx.export(
        forward, tuple(given), str(path), input_names=names, output_names=outputs, dynamo=False
    )

    def call(*arrays: NDArray[np.float32]) -> list[NDArray[np.float32]]:
        with lib.no_grad():
            found = forward(*(lib.from_numpy(array) for array in arrays))
        return [it.numpy() for it in (found if isinstance(found, tuple) else (found,))]

    return _finish(path, call, [tuple(it.shape) for it in given], observation_scale)


def _cleanrl(lib: Any, module: Any, actor: Any) -> Any:
    """The actor of a CleanRL agent, behind the shared network if there is one."""
    network = getattr(module, "network", None)
    return actor if network is None else lib.nn.Sequential(network, actor)


def flax(
    module: Any,
    params: Any,
    path: str | PathLike[str],
    observation: Shape,
    *,
    memory: Sequence[Shape] = (),
    apply: Callable[..., Any] | None = None,
    observation_scale: str | None = None,
) -> Path:
    """Exports a Flax policy by `jax2onnx`.

    By default it is called as `module.apply(params, observation, *memory)` and gives the logits, then the
    memory of the next step. A module with another form, such as JaxMARL's
    `(carry, (obs, dones)) -> (carry, pi, value)`, needs `apply(params, observation, *memory)`.
    """
    onnx = _library("onnx", "pip install onnx")
    to_onnx = _library("jax2onnx", "pip install jax2onnx flax").to_onnx
    jnp = _library("jax.numpy", "pip install jax")
    called = module.apply if apply is None else apply

    def step(*arrays: Any) -> Any:
        return called(params, *arrays)

    shapes = [(1, *observation), *((1, *shape) for shape in memory)]
    path = Path(path)
    model = to_onnx(step, [jnp.zeros(shape, jnp.float32) for shape in shapes])
    onnx.save(model, path)

    def call(*arrays: NDArray[np.float32]) -> list[NDArray[np.float32]]:
        found = step(*arrays)
        return [np.asarray(it) for it in (found if isinstance(found, tuple) else (found,))]

    return _finish(path, call, shapes, observation_scale)


def _library(name: str, install: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(f"this export needs `{name}`; install it: {install}") from error


def _finish(
    path: Path,
    call: Callable[..., list[NDArray[np.float32]]],
    shapes: Sequence[tuple[int, ...]],
    observation_scale: str | None,
) -> Path:
    """Writes the metadata, and compares the file with the policy where onnxruntime is installed."""
    if observation_scale is not None:
        onnx = _library("onnx", "pip install onnx")
        model = onnx.load(path)
        onnx.helper.set_model_props(model, {"coplay.observation_scale": observation_scale})
        onnx.save(model, path)
    try:
        runtime = importlib.import_module("onnxruntime")
    except ImportError:
        return path
    session = runtime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    rng = np.random.default_rng(0)
    given = [rng.normal(size=shape).astype(np.float32) for shape in shapes]
    names = [it.name for it in session.get_inputs()]
    found = session.run(None, dict(zip(names, given, strict=True)))
    for mine, theirs in zip(call(*given), found, strict=True):
        if not np.allclose(mine, theirs, rtol=1e-4, atol=1e-4):
            raise ValueError(
                f"{path}: the exported model gives other values than the policy (they differ by "
                f"{np.abs(mine - theirs).max():.2g}); export it in eval mode, and without random numbers"
            )
    return path
