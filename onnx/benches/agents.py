"""Exports three networks of the sizes that people train, and measures a decision of each with onnxruntime.

    python onnx/benches/agents.py FOLDER

Prints one JSON line for each figure. `cargo xtask bench agents` runs it, and measures the same files here.
"""

import json
import sys
import time
from pathlib import Path

import numpy as np
import onnxruntime
import torch
from torch import nn

ROUNDS, RUNS = 10, 300


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.into, self.cell, self.out = nn.Linear(96, 128), nn.GRUCell(128, 128), nn.Linear(128, 6)

    def forward(self, obs, h):
        h = self.cell(torch.relu(self.into(obs)), h)
        return self.out(h), h


def layers(*sizes):
    parts = []
    for before, after in zip(sizes, sizes[1:]):
        parts += [nn.Linear(before, after), nn.ReLU()]
    return parts[:-1]


def networks():
    """Two layers of 64; JaxMARL's convolutional network on a kitchen of 5 x 4; a GRU of 128."""
    yield "mlp_2x64", nn.Sequential(*layers(96, 64, 64, 6)), [(1, 96)]
    conv = [nn.Conv2d(26, 32, 5, padding=2), nn.ReLU(), nn.Conv2d(32, 32, 3, padding=1), nn.ReLU()]
    conv += [nn.Conv2d(32, 32, 3), nn.ReLU(), nn.Flatten(), *layers(192, 64, 64, 6)]
    yield "jaxmarl_conv", nn.Sequential(*conv), [(1, 26, 4, 5)]
    yield "gru_128", Recurrent(), [(1, 96), (1, 128)]


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    torch.manual_seed(0)
    for name, network, shapes in networks():
        given = [torch.zeros(shape) for shape in shapes]
        names = ["obs", "h"][: len(given)]
        path = folder / f"{name}.onnx"
        torch.onnx.export(
            network.eval(), tuple(given), str(path), input_names=names,
            output_names=["logits", "h_next"][: len(given)], dynamo=False, verbose=False,
        )
        session = onnxruntime.InferenceSession(
            str(path), options, providers=["CPUExecutionProvider"]
        )
        rng = np.random.default_rng(0)
        seen = (rng.random(shapes[0]) < 0.2).astype(np.float32)
        arrays = dict(zip(names, [seen, *(np.zeros(shape, np.float32) for shape in shapes[1:])]))
        best = float("inf")
        for _ in range(ROUNDS):
            start = time.perf_counter()
            for _ in range(RUNS):
                session.run(None, arrays)
            best = min(best, (time.perf_counter() - start) / RUNS)
        line = {"name": f"{name}, onnxruntime, one thread", "value": round(best * 1e6, 2)}
        print(json.dumps({**line, "unit": "µs a decision"}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
