"""Clones the scripted cook into a small network, and writes it as ONNX.

    pip install ./python numpy onnx
    python python/examples/clone_cook.py cook_clone.onnx

Behaviour cloning with DAgger (Ross, Gordon and Bagnell 2011): first the cook plays with itself, then the network plays
and the cook says what it would have done. The network takes fields of the observation by their names, as large as
in the kitchen with the most pots and filled with zeros in the others, as the server fills them. It decides every
second tick and does nothing in between, as the cook does: `every_ticks: 2` in the study file.
It takes about four minutes on one core and needs no GPU.
"""

from __future__ import annotations

import argparse
from typing import Any

import coplay
import numpy as np
from coplay import _coplay
from numpy.typing import NDArray

LAYOUTS = (
    "cramped_room",
    "asymmetric_advantages",
    "coordination_ring",
    "forced_coordination",
    "counter_circuit",
)
EVERY = 2
HORIZON = 600
SIZES = (192, 96)
LEFT_OUT = "object_type_masks"
PLACES = ("agent_position", "other.agent_position")
GRID = 9

Array = NDArray[np.float32]


def kept(layout: str) -> dict[str, slice]:
    """Where the observation of a kitchen has the fields that the network takes."""
    spec = coplay.parallel_env("overcooked", layout=layout).world_spec
    return {field.name: field.slice for field in spec.observation if field.name != LEFT_OUT}


def largest() -> list[tuple[str, int]]:
    """The fields that the network takes, each with its size in the kitchen where it is largest."""
    kitchens = [kept(layout) for layout in LAYOUTS]
    assert all(list(it) == list(kitchens[0]) for it in kitchens)
    return [(name, max(it[name].stop - it[name].start for it in kitchens)) for name in kitchens[0]]


class Cut:
    """Cuts the fields out of the observations of one kitchen, each filled with zeros to its largest size."""

    def __init__(self, layout: str, fields: list[tuple[str, int]]):
        self.layout, self.part = layout, {}
        for name, at in kept(layout).items():
            self.part[name] = np.arange(at.start, at.stop)
        # The last value, at -1, is the zero that is appended.
        ends = [(self.part[name], size - len(self.part[name])) for name, size in fields]
        self.places = np.concatenate([np.pad(part, (0, less), constant_values=-1) for part, less in ends])

    def __call__(self, observation: Array) -> Array:
        return np.append(observation, np.float32(0))[self.places]

    def check(self, observations: dict[str, Array]) -> None:
        """Asserts that what each seat sees of the other is what the other sees of itself."""
        for name, there in self.part.items():
            if name.startswith("other."):
                here = self.part[name.removeprefix("other.")]
                one, two = observations.values()
                assert (one[there] == two[here]).all() and (two[there] == one[here]).all(), (self.layout, name)


class Net:
    """Two hidden layers; places enter as one-hot rows and columns."""

    def __init__(self, fields: list[tuple[str, int]], actions: int, rng: np.random.Generator):
        self.fields = fields
        inputs = sum(GRID * size if name in PLACES else size for name, size in fields)
        sizes = (inputs, *SIZES, actions)
        pairs = list(zip(sizes, sizes[1:]))
        self.weights = [rng.normal(0, np.sqrt(2 / a), (a, b)).astype(np.float32) for a, b in pairs]
        self.biases = [np.zeros(b, np.float32) for _, b in pairs]

    def spread(self, seen: Array) -> Array:
        """The input of the first layer."""
        parts, at = [], 0
        for name, size in self.fields:
            part = seen[:, at : at + size]
            at += size
            if name in PLACES:
                near = 1 - (part[:, :, None] - np.arange(GRID, dtype=np.float32)) ** 2
                part = np.maximum(near, 0).reshape(len(seen), -1)
            parts.append(part)
        return np.concatenate(parts, axis=1)

    def forward(self, given: Array) -> list[Array]:
        """The output of each layer, from the first."""
        layers = [given]
        for index, (weights, bias) in enumerate(zip(self.weights, self.biases)):
            out = layers[-1] @ weights + bias
            layers.append(out if index == len(self.weights) - 1 else np.maximum(out, 0))
        return layers

    def fit(self, given: Array, wanted: NDArray[Any], steps: int, rng: np.random.Generator) -> float:
        """Adam on the cross-entropy; gives the share of equal actions in the last batches."""
        params = [*self.weights, *self.biases]
        first = [np.zeros_like(it) for it in params]
        second = [np.zeros_like(it) for it in params]
        right = 0.0
        for step in range(1, steps + 1):
            rate = 1e-3 * (1 - step / (steps + 1))
            rows = rng.integers(len(given), size=256)
            layers = self.forward(given[rows])
            powers = np.exp(layers[-1] - layers[-1].max(axis=1, keepdims=True))
            error = powers / powers.sum(axis=1, keepdims=True)
            chosen = wanted[rows]
            right += 0.02 * ((error.argmax(axis=1) == chosen).mean() - right)
            error[np.arange(len(rows)), chosen] -= 1
            error /= len(rows)
            weights_by: list[Array] = []
            biases_by: list[Array] = []
            for index in reversed(range(len(self.weights))):
                weights_by.insert(0, layers[index].T @ error)
                biases_by.insert(0, error.sum(axis=0))
                if index:
                    error = (error @ self.weights[index].T) * (layers[index] > 0)
            for it, by, one, two in zip(params, weights_by + biases_by, first, second):
                one += 0.1 * (by - one)
                two += 0.001 * (by * by - two)
                it -= rate * (one / (1 - 0.9**step)) / (np.sqrt(two / (1 - 0.999**step)) + 1e-8)
        return right

    def act(self, seen: Array, rng: np.random.Generator, temperature: float) -> int:
        """An action, drawn as the study file's `temperature` draws it."""
        values = self.forward(self.spread(seen[None]))[-1][0] / temperature
        powers = np.exp(values - values.max())
        return int(rng.choice(len(powers), p=powers / powers.sum()))


def play(
    cut: Cut,
    seed: int,
    net: Net | None,
    rng: np.random.Generator,
    temperature: float,
    share: float = 1.0,
    beside: bool = False,
    odd: str = "",
) -> tuple[list[Array], list[int], int]:
    """An episode: what was seen at each decision, what the cook would do, and the score.

    The network plays a share of the decisions; with `beside` it plays one seat alone and the cook the other. With
    `odd`, the other seat stands still or presses at random instead, as people may.
    """
    env = coplay.parallel_env("overcooked", layout=cut.layout, horizon=HORIZON)
    observations, _ = env.reset(seed=seed)
    cooks = {agent: _coplay.Partner("cook", env._world) for agent in env.possible_agents}
    for seat, cook in enumerate(cooks.values()):
        cook.reset(seat, seed)
    seen: list[Array] = []
    wanted: list[int] = []
    score, tick = 0, 0
    while env.agents:
        cut.check(observations)
        actions = {}
        for seat, (agent, cook) in enumerate(cooks.items()):
            action = int(cook.act(observations[agent]))
            if odd and seat != seed % 2:
                wild = tick % EVERY == 0 and odd == "random"
                action = int(rng.integers(env.action_space(agent).n)) if wild else env.world_spec.noop
            elif tick % EVERY == 0:
                own = cut(observations[agent])
                seen.append(own)
                wanted.append(action)
                plays = seat == seed % 2 if beside else rng.random() < share
                if net is not None and plays:
                    action = net.act(own, rng, temperature)
            else:
                assert action == env.world_spec.noop, "the cook rests when the network does"
            actions[agent] = action
        observations, _, _, _, infos = env.step(actions)
        score = infos["seat_0"]["score"]
        tick += 1
    return seen, wanted, score


def export(net: Net, path: str) -> None:
    """Writes the network with one input for each field, and the places spread by sums and products."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    nodes, constants, inputs, parts = [], [], [], []

    def constant(name: str, value: Array) -> str:
        constants.append(numpy_helper.from_array(value, name))
        return name

    constant("places", np.arange(GRID, dtype=np.float32).reshape(1, 1, GRID))
    constant("one", np.float32(1))
    for name, size in net.fields:
        inputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", size]))
        if name not in PLACES:
            parts.append(name)
            continue
        constant(f"{name}.cells", np.array([1, size, 1], np.int64))
        constant(f"{name}.flat", np.array([1, size * GRID], np.int64))
        steps = [
            ("Reshape", [name, f"{name}.cells"], "column"),
            ("Sub", [f"{name}.column", "places"], "apart"),
            ("Mul", [f"{name}.apart", f"{name}.apart"], "squared"),
            ("Sub", ["one", f"{name}.squared"], "near"),
            ("Relu", [f"{name}.near"], "hot"),
            ("Reshape", [f"{name}.hot", f"{name}.flat"], "spread"),
        ]
        for op, given, made in steps:
            nodes.append(helper.make_node(op, given, [f"{name}.{made}"], name=f"{name}.{made}"))
        parts.append(f"{name}.spread")
    nodes.append(helper.make_node("Concat", parts, ["h0"], name="concat", axis=1))
    for index, (weights, bias) in enumerate(zip(net.weights, net.biases)):
        is_last = index == len(net.weights) - 1
        made = "logits" if is_last else f"z{index + 1}"
        given = [f"h{index}", constant(f"w{index}", weights), constant(f"b{index}", bias)]
        nodes.append(helper.make_node("Gemm", given, [made], name=f"layer{index + 1}"))
        if not is_last:
            nodes.append(helper.make_node("Relu", [made], [f"h{index + 1}"], name=f"relu{index + 1}"))
    out = helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", net.biases[-1].size])
    graph = helper.make_graph(nodes, "cook_clone", inputs, [out], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    onnx.save(model, path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("path", help="the file to write")
    parser.add_argument("--rounds", type=int, default=12, help="of playing and learning")
    parser.add_argument("--episodes", type=int, default=8, help="a kitchen in each round")
    parser.add_argument("--steps", type=int, default=6000, help="of learning in each round")
    parser.add_argument("--temperature", type=float, default=0.5, help="at which it plays")
    parser.add_argument("--scored", type=int, default=10, help="episodes for each mean score")
    args = parser.parse_args()
    rng = np.random.default_rng(11)
    fields = largest()
    cuts = [Cut(layout, fields) for layout in LAYOUTS]
    net = Net(fields, len(coplay.parallel_env("overcooked").world_spec.actions), rng)
    given: list[Array] = []
    wanted: list[int] = []
    seed = 0
    for round_ in range(args.rounds):
        share = 0.0 if round_ == 0 else 0.8
        for cut in cuts:
            for k in range(args.episodes):
                odd = ("", "", "random", "idle")[k % 4]
                seen, labels, _ = play(cut, seed, net, rng, args.temperature, share, odd=odd)
                given.extend(net.spread(np.stack(seen)))
                wanted.extend(labels)
                seed += 1
        steps = args.steps * (3 if round_ == args.rounds - 1 else 1)
        right = net.fit(np.stack(given), np.array(wanted), steps, rng)
        print(f"round {round_ + 1}: {len(wanted)} decisions, {right:.3f} equal", flush=True)
        export(net, args.path)
    for cut in cuts:

        def mean(*how: Any, cut: Cut = cut, **more: Any) -> float:
            scores = [play(cut, 10**6 + k, net, rng, args.temperature, *how, **more)[2] for k in range(args.scored)]
            return float(np.mean(scores))

        scores = {"two cooks": mean(0.0), "beside a cook": mean(1.0, True), "two clones": mean()}
        print(cut.layout, {**scores, "beside nobody": mean(odd="idle")}, flush=True)


if __name__ == "__main__":
    main()
