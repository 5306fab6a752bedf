"""Makes the models of onnx/tests/golden and what onnxruntime says of them.

    pip install numpy onnx onnxruntime
    python onnx/tests/golden.py

Each model has a file beside it with the numbers of its actions, and three decisions in a row: the observation and the
values of the actions. What a model remembers goes from one decision to the next.
"""

import json
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

FOLDER = Path(__file__).parent / "golden"
RNG = np.random.default_rng(7)


def weights(*shape):
    return RNG.normal(0, 0.5, shape).astype(np.float32)


class Model:
    def __init__(self, name, shape, outputs, memory=(), opset=17):
        self.name, self.outputs, self.opset = name, outputs, opset
        self.memory, self.nodes, self.constants = list(memory), [], []
        self.inputs = [helper.make_tensor_value_info("obs", TensorProto.FLOAT, shape)]
        for enters, _, size in self.memory:
            self.inputs.append(helper.make_tensor_value_info(enters, TensorProto.FLOAT, size))

    def constant(self, value):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def add(self, op, inputs, outputs=None, **attributes):
        inputs = [it if isinstance(it, str) else self.constant(it) for it in inputs]
        outputs = outputs or [f"v{len(self.nodes)}"]
        name = f"{op.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, outputs, name=name, **attributes))
        return outputs[0]

    def save(self, actions, steps=3):
        names = self.outputs + [leaves for _, leaves, _ in self.memory]
        infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in names]
        graph = helper.make_graph(self.nodes, self.name, self.inputs, infos, self.constants)
        opsets = [helper.make_opsetid("", self.opset)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
        model = onnx.shape_inference.infer_shapes(model)
        path = FOLDER / f"{self.name}.onnx"
        onnx.save(model, path)
        session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        given = session.get_inputs()[0].shape
        given = [size if isinstance(size, int) else 1 for size in given]
        kept = {enters: np.zeros(size, np.float32) for enters, _, size in self.memory}
        decisions = []
        for _ in range(steps):
            observation = RNG.normal(0, 1, given).astype(np.float32)
            found = session.run(names, {"obs": observation, **kept})
            found = dict(zip(names, found))
            kept = {enters: found[leaves] for enters, leaves, _ in self.memory}
            logits = next(found[name] for name in self.outputs if found[name].size == actions)
            decisions.append(
                {
                    "observation": [float(it) for it in observation.flatten()],
                    "logits": [float(it) for it in logits.flatten()],
                }
            )
        text = json.dumps({"actions": actions, "decisions": decisions})
        (FOLDER / f"{self.name}.json").write_text(text + "\n")


def mlp():
    """As PyTorch exports a policy with a value function beside it."""
    model = Model("mlp", ["batch", 12], ["value", "logits"])
    trunk = model.add("Tanh", [model.add("Gemm", ["obs", weights(16, 12), weights(16)], transB=1)])
    trunk = model.add("Tanh", [model.add("Gemm", [trunk, weights(16, 16), weights(16)], transB=1, alpha=0.5)])
    model.add("Gemm", [trunk, weights(1, 16), weights(1)], ["value"], transB=1)
    model.add("Gemm", [trunk, weights(6, 16), weights(6)], ["logits"], transB=1)
    model.save(6)


def keras():
    """Products and sums, a normalised observation, no name for the batch."""
    model = Model("keras", [None, 10], ["logits"], opset=13)
    seen = model.add("Div", [model.add("Sub", ["obs", weights(10)]), np.float32(1.5)])
    for size in (8, 9):
        inputs = 10 if size == 8 else 8
        product = model.add("MatMul", [seen, weights(inputs, size)])
        seen = model.add("LeakyRelu", [model.add("Add", [product, weights(size)])], alpha=0.1)
    model.add("Add", [model.add("MatMul", [seen, weights(9, 5)]), weights(5)], ["logits"])
    model.save(5)


def conv():
    """A picture with its channels last."""
    model = Model("conv", [1, 5, 4, 2], ["logits"])
    seen = model.add("Transpose", ["obs"], perm=[0, 3, 1, 2])
    seen = model.add("Conv", [seen, weights(4, 2, 3, 3), weights(4)], pads=[1, 1, 1, 1])
    norm = [seen, weights(4), weights(4), weights(4), np.abs(weights(4)) + np.float32(0.5)]
    seen = model.add("Elu", [model.add("BatchNormalization", norm)], alpha=0.7)
    grouped = {"group": 2, "strides": [2, 1], "dilations": [1, 2], "auto_pad": "VALID"}
    seen = model.add("Relu", [model.add("Conv", [seen, weights(6, 2, 2, 2)], **grouped)])
    same = {"auto_pad": "SAME_UPPER", "strides": [2, 2]}
    seen = model.add("Conv", [seen, weights(3, 6, 3, 3), weights(3)], **same)
    seen = model.add("Flatten", [seen])
    model.add("Gemm", [seen, weights(3, 6), weights(6)], ["logits"])
    model.save(6)


def moves():
    """Shapes that are calculated, parts, functions."""
    model = Model("moves", ["batch", 12], ["logits"])
    batch = model.add("Gather", [model.add("Shape", ["obs"]), np.int64(0)], axis=0)
    batch = model.add("Unsqueeze", [batch, np.array([0])])
    shape = model.add("Concat", [batch, np.array([3, -1])], axis=0)
    grid = model.add("Reshape", ["obs", shape])
    head = model.add("Slice", [grid, np.array([0]), np.array([3]), np.array([2]), np.array([2])])
    head = model.add("Sigmoid", [model.add("Flatten", [head])])
    first, second = "first", "second"
    model.add("Split", ["obs", np.array([5, 7])], [first, second], axis=1)
    first = model.add("Exp", [model.add("Clip", [first, np.float32(-1), np.float32(1)])])
    second = model.add("Mul", [second, model.add("Tanh", [second])])
    third = model.add("Gather", ["obs", np.array([11, 3])], axis=1)
    joined = model.add("Concat", [head, first, second, third], axis=1)
    model.add("Gemm", [joined, weights(20, 4), weights(4)], ["logits"])
    model.save(4)


def lstm():
    memory = [("h", "h_next", [1, 1, 8]), ("c", "c_next", [1, 1, 8])]
    model = Model("lstm", [1, 6], ["logits"], memory)
    seen = model.add("Unsqueeze", [model.add("Relu", ["obs"]), np.array([0])])
    cell = [seen, weights(1, 32, 6), weights(1, 32, 8), weights(1, 64), "", "h", "c"]
    model.add("LSTM", cell, ["steps", "h_next", "c_next"], hidden_size=8)
    out = model.add("Squeeze", ["steps", np.array([0, 1])])
    model.add("Gemm", [out, weights(8, 5), weights(5)], ["logits"])
    model.save(5)


def gru(name, before):
    model = Model(name, [1, 6], ["logits"], [("h", "h_next", [1, 1, 7])])
    seen = model.add("Unsqueeze", ["obs", np.array([0])])
    cell = [seen, weights(1, 21, 6), weights(1, 21, 7), weights(1, 42), "", "h"]
    model.add("GRU", cell, ["steps", "h_next"], hidden_size=7, linear_before_reset=before)
    out = model.add("Squeeze", ["h_next", np.array([0])])
    model.add("Gemm", [out, weights(7, 5), weights(5)], ["logits"])
    model.save(5)


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for make in (mlp, keras, conv, moves, lstm):
        make()
    gru("gru", 0)
    gru("gru_torch", 1)
