"""A small network that learns which action people choose, in NumPy, and as an ONNX model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coplay._optional import import_optional

Array = NDArray[np.float32]
Integers = NDArray[np.int64]

FEW = 16
"""A whole number with at most so many different values enters as one input for each value."""

CHECK_EVERY = 100
"""Steps of learning between two looks at the episodes that are watched."""

PATIENCE = 15
"""Looks without an improvement after which learning ends."""


@dataclass(frozen=True)
class Encoding:
    """The input of the first layer for an observation."""

    plain: Integers
    """Columns that enter as they are, brought to mean 0 and deviation 1."""
    mean: Array
    deviation: Array
    spread: Integers
    """Columns that enter as "is it this value?", once for each of `values`."""
    values: Array

    @classmethod
    def of(cls, observations: Array) -> Encoding:
        """Chooses how each column enters; columns that never change do not."""
        plain, spread, values = [], [], []
        for at, column in enumerate(observations.T):
            found = np.unique(column)
            is_whole = len(found) <= FEW and np.array_equal(found, np.round(found))
            if len(found) > 2 and is_whole:
                spread += [at] * len(found)
                values += found.tolist()
            elif len(found) > 1:
                plain.append(at)
        own = observations[:, plain]
        return cls(
            plain=np.array(plain, np.int64),
            mean=own.mean(axis=0).astype(np.float32),
            deviation=np.maximum(own.std(axis=0), 1e-3).astype(np.float32),
            spread=np.array(spread, np.int64),
            values=np.array(values, np.float32),
        )

    @property
    def size(self) -> int:
        """The number of values that the first layer is given."""
        return len(self.plain) + len(self.spread)

    def __call__(self, observations: Array) -> Array:
        plain = (observations[:, self.plain] - self.mean) / self.deviation
        apart = observations[:, self.spread] - self.values
        return np.concatenate([plain, np.maximum(1 - apart * apart, 0)], axis=1)


class Network:
    """Hidden layers with rectifiers, and a value for each action."""

    def __init__(self, encoding: Encoding, hidden: Sequence[int], actions: int, rng: np.random.Generator) -> None:
        self.encoding = encoding
        sizes = [encoding.size, *hidden, actions]
        pairs = list(zip(sizes[:-1], sizes[1:], strict=True))
        self.weights = [rng.normal(0, np.sqrt(2 / max(a, 1)), (a, b)).astype(np.float32) for a, b in pairs]
        self.weights[-1] *= 0.1
        self.biases = [np.zeros(b, np.float32) for _, b in pairs]

    def log_probabilities(self, observations: Array) -> Array:
        """`[row, action]`: the logarithm of the probability of each action."""
        parts = [observations[at : at + 4096] for at in range(0, len(observations), 4096)]
        return np.concatenate([_log_softmax(self._layers(self.encoding(part))[-1]) for part in parts])

    def _layers(self, given: Array) -> list[Array]:
        """The output of each layer, from the first."""
        layers = [given]
        for at, (weights, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            out = layers[-1] @ weights + bias
            layers.append(out if at == len(self.weights) - 1 else np.maximum(out, 0))
        return layers

    def gradients(self, observations: Array, actions: Integers) -> list[Array]:
        """Those of the mean cross-entropy, for the weights and then the biases."""
        layers = self._layers(self.encoding(observations))
        error = np.exp(_log_softmax(layers[-1]))
        error[np.arange(len(actions)), actions] -= 1
        error /= len(actions)
        weights: list[Array] = []
        biases: list[Array] = []
        for at in reversed(range(len(self.weights))):
            weights.insert(0, layers[at].T @ error)
            biases.insert(0, error.sum(axis=0))
            if at:
                error = (error @ self.weights[at].T) * (layers[at] > 0)
        return weights + biases

    def save(self, path: str | PathLike[str], inputs: Sequence[tuple[str, int]], name: str) -> None:
        """Writes the network as ONNX, with one input for each name and size; together they are an observation."""
        onnx = import_optional("onnx", "writing a model")
        onnx.save(self._model(onnx, inputs, name), fspath(path))

    def _model(self, onnx: Any, inputs: Sequence[tuple[str, int]], name: str) -> Any:
        helper, floats = onnx.helper, onnx.TensorProto.FLOAT
        nodes, constants = [], []

        def constant(name: str, value: NDArray[Any]) -> str:
            constants.append(onnx.numpy_helper.from_array(value, name))
            return name

        def add(operator: str, given: list[str], made: str, **more: Any) -> str:
            nodes.append(helper.make_node(operator, given, [made], name=made, **more))
            return made

        given = [helper.make_tensor_value_info(name, floats, ["batch", size]) for name, size in inputs]
        whole = inputs[0][0]
        if len(inputs) > 1:
            whole = add("Concat", [name for name, _ in inputs], "observation", axis=1)
        weights, biases, encoding = list(self.weights), list(self.biases), self.encoding
        count = len(encoding.plain)
        # Mean and deviation become a part of the first layer.
        scaled = weights[0][:count] / encoding.deviation[:, None]
        biases[0] = biases[0] - encoding.mean @ scaled
        weights[0] = np.concatenate([scaled, weights[0][count:]])
        parts = []
        if count:
            parts.append(add("Gather", [whole, constant("plain_at", encoding.plain)], "plain", axis=1))
        if len(encoding.spread):
            chosen = add("Gather", [whole, constant("spread_at", encoding.spread)], "chosen", axis=1)
            apart = add("Sub", [chosen, constant("values", encoding.values[None])], "apart")
            square = add("Mul", [apart, apart], "square")
            near = add("Sub", [constant("one", np.ones((1, 1), np.float32)), square], "near")
            parts.append(add("Relu", [near], "spread"))
        layer = add("Concat", parts, "given", axis=1) if len(parts) > 1 else parts[0]
        for at, (matrix, bias) in enumerate(zip(weights, biases, strict=True)):
            is_last = at == len(weights) - 1
            terms = [layer, constant(f"weights_{at}", matrix), constant(f"bias_{at}", bias)]
            layer = add("Gemm", terms, "logits" if is_last else f"layer_{at}")
            layer = layer if is_last else add("Relu", [layer], f"hidden_{at}")
        made = helper.make_tensor_value_info("logits", floats, ["batch", biases[-1].size])
        graph = helper.make_graph(nodes, name, given, [made], constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        onnx.checker.check_model(model)
        return model


@dataclass(frozen=True)
class Examples:
    """Observations, and the actions that people chose there."""

    observations: Array
    actions: Integers

    def likelihood(self, network: Network) -> float:
        """The mean logarithm of the probability of the chosen actions."""
        logs = network.log_probabilities(self.observations)
        return float(logs[np.arange(len(self.actions)), self.actions].mean())


def fit(
    network: Network,
    learned: Examples,
    watched: Examples,
    *,
    steps: int,
    rng: np.random.Generator,
    rate: float = 1e-3,
    batch: int = 256,
    decay: float = 1e-2,
    tell: Callable[[int, float], None] = lambda step, likelihood: None,
) -> int:
    """Learns by Adam with decoupled weight decay, and keeps what foresaw the watched examples best; gives its step.

    Source: Loshchilov and Hutter 2019.
    """
    params = [*network.weights, *network.biases]
    first = [np.zeros_like(it) for it in params]
    second = [np.zeros_like(it) for it in params]
    best, kept, at = -np.inf, [it.copy() for it in params], 0
    for step in range(1, steps + 1):
        rows = rng.integers(len(learned.actions), size=batch)
        gradients = network.gradients(learned.observations[rows], learned.actions[rows])
        pace = rate * (1 - step / (steps + 1))
        for number, (it, by, one, two) in enumerate(zip(params, gradients, first, second, strict=True)):
            one += 0.1 * (by - one)
            two += 0.001 * (by * by - two)
            if number < len(network.weights):
                it *= 1 - pace * decay
            it -= pace * (one / (1 - 0.9**step)) / (np.sqrt(two / (1 - 0.999**step)) + 1e-8)
        if step % CHECK_EVERY == 0 or step == steps:
            found = watched.likelihood(network)
            tell(step, found)
            if found > best:
                best, kept, at = found, [it.copy() for it in params], step
            elif step - at >= CHECK_EVERY * PATIENCE:
                break
    for it, own in zip(params, kept, strict=True):
        it[...] = own
    return at


def _log_softmax(values: Array) -> Array:
    shifted = values - values.max(axis=1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True)), np.float32)
