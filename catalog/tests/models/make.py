"""Writes the models of these tests: what policies of overcooked-ai and of JaxMARL take of Cramped Room, and both of a
square kitchen, of JaxMARL's Overcooked V2 with the whole room and with two cells in each direction, and six values.

    python catalog/tests/models/make.py

Each is one layer with small fixed weights. It needs the package `onnx`.
"""

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

MODELS = {
    "lossless": [5, 4, 26],
    "jaxmarl": [4, 5, 26],
    "ring": [5, 5, 26],
    "jaxmarl_v2": [4, 5, 30],
    "jaxmarl_v2_near": [5, 5, 40],
    "features": [96],
}

for name, sides in MODELS.items():
    values = int(np.prod(sides))
    weights = ((np.arange(values * 6) * 37 % 101 - 50) / 500).astype(np.float32).reshape(values, 6)
    model = helper.make_model(
        helper.make_graph(
            [
                helper.make_node("Flatten", ["obs"], ["row"], axis=1),
                helper.make_node("MatMul", ["row", "weights"], ["logits"]),
            ],
            name,
            [helper.make_tensor_value_info("obs", TensorProto.FLOAT, [1, *sides])],
            [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [1, 6])],
            [numpy_helper.from_array(weights, "weights")],
        ),
        opset_imports=[helper.make_opsetid("", 17)],
    )
    model.ir_version = 8
    onnx.checker.check_model(model)
    onnx.save(model, Path(__file__).with_name(f"{name}.onnx"))
