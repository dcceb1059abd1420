#!/usr/bin/env python3
"""Makes the golden files beside it. They were made with safetensors 0.8.0 and numpy 2.4.6:

python3 -m venv /tmp/venv && /tmp/venv/bin/pip install safetensors==0.8.0 numpy==2.4.6 && /tmp/venv/bin/python make.py

policy      a learned policy whose features no build has
rlp         one that load_policy loads
types       every type, ranks and names
none, half  no tensor; a type that rubato refuses
"""
import json
import pathlib

import numpy as np
from safetensors.numpy import save_file

HERE = pathlib.Path(__file__).parent

CARD = {
    "format": 1, "rubato": "0.1.0", "kind": "rlp", "rule": "",
    "features": [{"name": "loss", "unit": ""}, {"name": "staleness", "unit": "steps"},
                 {"name": "caf\u00e9", "unit": "\u00b5s"}],
    "features_hash": "", "loss_source": "push", "actions": ["hold", "submitter"], "decision_period": "push",
    "reward": "-time", "trained_on": "paper", "command": "rubato-lab train --agent dqn-paper --out \"p\"",
    "seed": 2**64 - 1,
    "evaluation": [{"scenario": "paper", "baseline": "bsp", "ratio": 1.25, "low": 1.125, "high": 1.5, "seeds": 10}],
    "licence": "Apache-2.0", "layers": [3, 4, 2], "activation": "leaky_relu(0.01)",
}


def fnv1a(data):
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return value


def grid(shape, dtype, step):
    return (np.arange(np.prod(shape)) * step).reshape(shape).astype(dtype)


def text_of(card):
    lines = "".join(f"{f['name']}\n{f['unit']}\n" for f in card["features"])
    return json.dumps(card | {"features_hash": f"{fnv1a(lines.encode()):016x}"}, separators=(",", ":"), ensure_ascii=False)


save_file({
    "policy/layer0/weight": grid((4, 3), np.float32, 0.5), "policy/layer0/bias": grid((4,), np.float32, -0.25),
    "policy/layer1/weight": grid((2, 4), np.float32, 0.125), "policy/layer1/bias": grid((2,), np.float32, 8),
    "obs_norm/mean": grid((3,), np.float64, 0.1), "obs_norm/var": grid((3,), np.float64, 0.1) + 1,
    "obs_norm/count": np.array(12345, np.uint64),
}, HERE / "policy.safetensors", {"rubato": text_of(CARD)})

HISTORY = [("iteration", "pushes"), ("loss", "nats"), ("loss_change", "nats"), ("staleness", "pushes")]
save_file({
    "policy/layer0/weight": grid((2, 40), np.float32, 0.125) - 5, "policy/layer0/bias": grid((2,), np.float32, -0.25),
    "policy/layer1/weight": grid((3, 2), np.float32, 0.5) - 1, "policy/layer1/bias": grid((3,), np.float32, 0.0625),
    "obs_norm/mean": grid((40,), np.float64, 0.1), "obs_norm/var": grid((40,), np.float64, 0.1) + 1,
    "obs_norm/count": np.array(1000, np.uint64),
}, HERE / "rlp.safetensors", {"rubato": text_of(CARD | {
    "features": [{"name": f"{name}@{i}", "unit": unit} for i in range(10) for name, unit in HISTORY],
    "actions": ["hold", "submitter", "all"], "layers": [40, 2, 3],
})})

save_file({
    "f32": np.array([[1, -0.0, np.nan], [np.inf, 1e-45, 3.4028235e38]], np.float32),
    "f64": np.array([0.1, -np.inf], np.float64), "i64": np.array([-2**63, -1, 2**63 - 1]),
    "u64": np.array([2**64 - 1], np.uint64), "scalar": np.array(7.5, np.float32),
    "empty": np.zeros((0, 3), np.float64), "rank8": grid((1, 2, 1, 2, 1, 1, 1, 1), np.int64, 1),
    "caf\u00e9 \u20ac \U0001f600": np.array([2], np.float32),
}, HERE / "types.safetensors")

save_file({}, HERE / "none.safetensors")
save_file({"w": np.array([1], np.float16)}, HERE / "half.safetensors")
