"""Exports small policies with the libraries that people train with, and notes what onnxruntime says of them.

    python onnx/tests/exports.py [torch] [sb3] [flax] [tensorflow]

Without a name, all of them. `cargo xtask exports` installs the libraries (`exports-*.txt`), exports everything into
`target/exports`, and compares it. Each model has a file beside it with three decisions in a row, as the models of
`golden.py` have. The default test compares the models in `exports/`. EXPORTS names another folder to write to.
"""

import importlib.util
import json
import os
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime

EXPORT = Path(__file__).parents[2] / "python/coplay/export.py"
FOLDER = Path(os.environ.get("EXPORTS", Path(__file__).parent / "exports"))
STEPS = 3


def note(name, actions, shape, memory=(), scale=1.0, mask=None, own=None):
    """Runs a model with onnxruntime, and writes down what it was given and what it said."""
    path = FOLDER / f"{name}.onnx"
    model = onnx.load(path)
    del model.graph.value_info[:]
    for node in model.graph.node:
        node.doc_string = ""
        del node.metadata_props[:]
    for value in [*model.graph.input, *model.graph.output, *model.graph.initializer]:
        del value.metadata_props[:]
    del model.graph.metadata_props[:]
    model.doc_string = model.graph.doc_string = ""
    onnx.save(model, path)
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    inputs = [it.name for it in session.get_inputs()]
    outputs = [it.name for it in session.get_outputs()]
    observed = next(it for it in inputs if it != mask and it not in dict(memory))
    rng = np.random.default_rng(11)
    kept = {enters: np.zeros(size, np.float32) for enters, size in dict(memory).items()}
    decisions = []
    for _ in range(STEPS):
        seen = rng.normal(0, 1, shape) if own is None else own(rng)
        seen = np.asarray(seen, np.float32)
        given = {observed: seen * np.float32(scale), **kept}
        decision = {"observation": [float(it) for it in seen.flatten()]}
        if mask:
            allowed = rng.integers(0, 2, actions)
            allowed[0] = 1
            given[mask] = allowed.reshape(1, -1).astype(np.float32)
            decision["mask"] = [int(it) for it in allowed]
        found = session.run(outputs, given)
        count = len(kept)
        kept = dict(zip(kept, found[len(found) - count :]))
        values = next(it for it in found[: len(found) - count] if it.size == actions)
        decision["logits"] = [float(it) for it in values.flatten()]
        decisions.append(decision)
    text = json.dumps({"actions": actions, "decisions": decisions})
    (FOLDER / f"{name}.json").write_text(text + "\n")
    used = sorted({node.op_type for node in model.graph.node})
    print(f"{name}: {path.stat().st_size} bytes, {', '.join(used)}")


def coplay_export():
    """The module `coplay.export`, without the compiled part of its package."""
    spec = importlib.util.spec_from_file_location("coplay_export", EXPORT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def tag(name, **entries):
    """Puts entries into the metadata of a model."""
    path = FOLDER / f"{name}.onnx"
    model = onnx.load(path)
    onnx.helper.set_model_props(model, entries)
    onnx.save(model, path)


def torch_models():
    import torch
    from torch import nn

    torch.manual_seed(3)

    def export(name, module, given, inputs, outputs, dynamo=False):
        module.eval()
        more = {"external_data": False} if dynamo else {}
        torch.onnx.export(
            module, given, str(FOLDER / f"{name}.onnx"), input_names=inputs,
            output_names=outputs, dynamo=dynamo, verbose=False, **more,
        )

    class Kitchen(nn.Module):
        """As in ZSC-Eval: a convolution, layers with a norm, GRU, and a mask on the actions."""

        def __init__(self):
            super().__init__()
            self.conv = nn.Sequential(nn.Conv2d(5, 6, 3, padding=1), nn.ReLU(), nn.Flatten())
            self.fc = nn.Sequential(nn.Linear(6 * 20, 12), nn.ReLU(), nn.LayerNorm(12))
            self.rnn = nn.GRU(12, 8)
            self.norm, self.out = nn.LayerNorm(8), nn.Linear(8, 6)

        def forward(self, obs, h, action_mask):
            x = self.fc(self.conv(obs.permute(0, 3, 2, 1) / 255.0))
            x, h = self.rnn(x.unsqueeze(0), h)
            logits = self.out(self.norm(x.squeeze(0)))
            return torch.where(action_mask == 0, torch.full_like(logits, -1e10), logits), h

    given = (torch.zeros(1, 4, 5, 5), torch.zeros(1, 1, 8), torch.ones(1, 6))
    for name, dynamo in (("torch_kitchen", False), ("torch_kitchen_dynamo", True)):
        export(name, Kitchen(), given, ["obs", "h", "action_mask"], ["logits", "h_next"], dynamo)
        tag(name, **{"coplay.observation_scale": "255"})
        note(name, 6, (1, 4, 5, 5), {"h": (1, 1, 8)}, scale=255.0, mask="action_mask",
             own=lambda rng: rng.integers(0, 2, (1, 4, 5, 5)))

    class Attention(nn.Module):
        """A small transformer over the parts of an observation."""

        def __init__(self):
            super().__init__()
            self.embed = nn.Linear(4, 8)
            layer = nn.TransformerEncoderLayer(
                8, 2, 12, dropout=0.0, batch_first=True, activation="gelu"
            )
            self.encoder = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
            self.place = nn.Parameter(torch.randn(5, 8) * 0.1)
            self.out = nn.Linear(8, 5)

        def forward(self, obs):
            x = self.encoder(self.embed(obs.reshape(-1, 5, 4)) + self.place)
            return torch.softmax(self.out(x.mean(dim=1)), dim=-1)

    for name, dynamo in (("torch_attention", False), ("torch_attention_dynamo", True)):
        export(name, Attention(), (torch.zeros(1, 20),), ["obs"], ["probabilities"], dynamo)
        note(name, 5, (1, 20))

    class Pools(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv2d(3, 4, 3)
            self.act = nn.ModuleList(
                [nn.SiLU(), nn.Mish(), nn.Softplus(), nn.Hardswish(), nn.Hardsigmoid(), nn.GELU(),
                 nn.GELU(approximate="tanh"), nn.SELU(), nn.CELU(0.7), nn.PReLU(), nn.Softsign()]
            )
            self.norm = nn.GroupNorm(2, 4)
            self.out = nn.Linear(20, 6)

        def forward(self, obs):
            x = self.norm(self.conv(nn.functional.pad(obs, (1, 0, 2, 1), value=0.5)))
            for act in self.act:
                x = act(x) * 1.5
            a = nn.functional.max_pool2d(x, 2, ceil_mode=True).flatten(1)[:, :8]
            b = nn.functional.avg_pool2d(x, 3, stride=2, padding=1).flatten(1)[:, :8]
            c = nn.functional.adaptive_avg_pool2d(x, 1).flatten(1)
            return torch.log_softmax(self.out(torch.cat([a, b, c], 1)), -1)

    export("torch_pools", Pools(), (torch.zeros(1, 3, 6, 7),), ["obs"], ["log_probabilities"])
    note("torch_pools", 6, (1, 3, 6, 7))

    class Odds(nn.Module):
        """Comparisons, reductions and products that policies have inside."""

        def __init__(self):
            super().__init__()
            self.table, self.lstm = nn.Embedding(4, 6), nn.LSTMCell(6, 5)
            self.keys, self.out = nn.Parameter(torch.randn(3, 5, 4)), nn.Linear(12, 4)

        def forward(self, obs, h, c):
            kind = obs[:, :4].argmax(-1)
            x = self.table(kind) + obs[:, 4:10].abs().sqrt() - obs[:, 4:10].pow(3).tanh()
            is_reset = (obs[:, 10:11] > 0.5) & ~(obs[:, 11:12] >= 1.5)
            h, c = torch.where(is_reset, 0.0, h), torch.where(is_reset, 0.0, c)
            h, c = self.lstm(x / x.norm(dim=-1, keepdim=True), (h, c))
            heads = torch.einsum("bi,hij->bhj", h, self.keys)
            scores = torch.einsum("bhj,bkj->bhk", heads, heads) / 2.0
            mixed = torch.softmax(scores, -1) @ heads
            mixed = torch.minimum(torch.maximum(mixed, heads.mean(1, keepdim=True)), heads.amax((1, 2), keepdim=True))
            return self.out(mixed.reshape(1, -1)) + torch.logsumexp(mixed, (1, 2)) - mixed.sum(), h, c

    given = (torch.zeros(1, 12), torch.zeros(1, 5), torch.zeros(1, 5))
    for name, dynamo in (("torch_odds", False), ("torch_odds_dynamo", True)):
        export(name, Odds(), given, ["obs", "h", "c"], ["logits", "h_next", "c_next"], dynamo)
        note(name, 4, (1, 12), {"h": (1, 5), "c": (1, 5)})


def sb3_models():
    import gymnasium
    from sb3_contrib import MaskablePPO, RecurrentPPO
    from stable_baselines3 import DQN, PPO

    class Env(gymnasium.Env):
        observation_space = gymnasium.spaces.Box(-1, 1, (9,), np.float32)
        action_space = gymnasium.spaces.Discrete(5)

    export = coplay_export().stable_baselines3
    for name, kind in (("sb3_ppo", PPO), ("sb3_dqn", DQN), ("sb3_maskable_ppo", MaskablePPO)):
        model = kind("MlpPolicy", Env(), policy_kwargs={"net_arch": [10, 10]}, seed=4, device="cpu")
        export(model, FOLDER / f"{name}.onnx")
        note(name, 5, (1, 9))
    try:
        export(RecurrentPPO("MlpLstmPolicy", Env(), device="cpu"), FOLDER / "left_out.onnx")
    except ValueError as error:
        assert "has a memory" in str(error), error
    else:
        raise AssertionError("the memory of RecurrentPPO was left out")


def flax_models():
    import flax.linen as nn
    import jax
    import jax.numpy as jnp

    def export(name, module, *given):
        params = module.init(jax.random.PRNGKey(5), *given)
        observation, *memory = (it.shape[1:] for it in given)
        coplay_export().flax(module, params, FOLDER / f"{name}.onnx", observation, memory=memory)

    class Conv(nn.Module):
        """As JaxMARL's network for kitchens."""

        @nn.compact
        def __call__(self, obs):
            x = nn.relu(nn.Conv(6, (5, 5))(obs))
            x = nn.relu(nn.Conv(6, (3, 3))(x))
            x = nn.relu(nn.Conv(6, (3, 3), padding="VALID")(x))
            x = nn.relu(nn.Dense(10)(x.reshape((x.shape[0], -1))))
            return nn.Dense(6)(nn.relu(nn.Dense(10)(x)))

    export("flax_conv", Conv(), jnp.zeros((1, 4, 5, 7)))
    note("flax_conv", 6, (1, 4, 5, 7))

    class Recurrent(nn.Module):
        """As JaxMARL's recurrent policy, one step."""

        cell: str

        @nn.compact
        def __call__(self, obs, *carry):
            x = nn.LayerNorm()(nn.relu(nn.Dense(8)(obs)))
            if self.cell == "gru":
                carry, x = nn.GRUCell(features=7)(carry[0], x)
                carry = (carry,)
            else:
                carry, x = nn.OptimizedLSTMCell(features=7)(carry, x)
            return (nn.Dense(6)(nn.leaky_relu(x)), *carry)

    for cell, count in (("gru", 1), ("lstm", 2)):
        carry = [jnp.zeros((1, 7))] * count
        export(f"flax_{cell}", Recurrent(cell), jnp.zeros((1, 9)), *carry)
        inputs = [it.name for it in onnx.load(FOLDER / f"flax_{cell}.onnx").graph.input]
        note(f"flax_{cell}", 6, (1, 9), {name: (1, 7) for name in inputs[1:]})

    class Transformer(nn.Module):
        @nn.compact
        def __call__(self, obs):
            x = nn.Dense(8)(obs.reshape((1, 5, 4)))
            x = x + nn.MultiHeadDotProductAttention(num_heads=2)(nn.LayerNorm()(x))
            x = x + nn.Dense(8)(nn.gelu(nn.Dense(12)(nn.RMSNorm()(x))))
            return nn.log_softmax(nn.Dense(5)(nn.silu(x.mean(axis=1))))

    export("flax_attention", Transformer(), jnp.zeros((1, 20)))
    note("flax_attention", 5, (1, 20))


def tensorflow_models():
    import tensorflow as tf
    import tf2onnx

    tf.keras.utils.set_random_seed(6)
    layers = tf.keras.layers

    def export(name, model, inputs):
        given = [tf.TensorSpec(shape, tf.float32, name=key) for key, shape in inputs.items()]
        call = tf.function(lambda *it: model(list(it) if len(it) > 1 else it[0]), given)
        tf2onnx.convert.from_function(
            call, given, opset=17, output_path=str(FOLDER / f"{name}.onnx")
        )

    kitchen = tf.keras.Sequential(
        [
            layers.Input((4, 5, 6)),
            layers.Conv2D(5, 3, padding="same", activation=tf.nn.leaky_relu),
            layers.BatchNormalization(),
            layers.Conv2D(4, 2, padding="valid", activation="swish"),
            layers.MaxPooling2D(2),
            layers.Flatten(),
            layers.Dense(8, activation=lambda x: tf.nn.gelu(x, approximate=True)),
            layers.LayerNormalization(),
            layers.Dense(6, activation="softmax"),
        ]
    )
    export("keras_conv", kitchen, {"obs": (1, 4, 5, 6)})
    note("keras_conv", 6, (1, 4, 5, 6))

    cell, first, last = layers.LSTMCell(6), layers.Dense(7, activation="elu"), layers.Dense(5)

    def recurrent(given):
        obs, h, c = given
        out, (h, c) = cell(first(obs), [h, c])
        return last(out), h, c

    export("keras_lstm", recurrent, {"obs": (1, 8), "h": (1, 6), "c": (1, 6)})
    note("keras_lstm", 5, (1, 8), {"h": (1, 6), "c": (1, 6)})


FAMILIES = {
    "torch": torch_models,
    "sb3": sb3_models,
    "flax": flax_models,
    "tensorflow": tensorflow_models,
}

if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    for family in sys.argv[1:] or FAMILIES:
        FAMILIES[family]()
