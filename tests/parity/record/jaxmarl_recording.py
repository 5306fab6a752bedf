"""The common part of the recorders: the command line, hashes of observations, and files of episodes.

A recording is a file `NAME.jsonl.gz`: for each episode a line that describes it, then a line for each step.
"""

import argparse
import gzip
import json
from pathlib import Path

import numpy as np

OFFSET = np.uint64(0xCBF29CE484222325)
PRIME = np.uint64(0x100000001B3)


def arguments(about, layouts):
    """Reads the command line that every recorder has."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--out", type=Path, required=True, help="folder for the recordings")
    parser.add_argument("--seed", type=int, default=0, help="seed of draws and players")
    parser.add_argument("--episodes", type=int, default=10, help="episodes for each layout")
    parser.add_argument("--layouts", default="all", help=layouts)
    parser.add_argument("--whole", type=int, default=1, help="episodes with whole observations, for each layout")
    read = parser.parse_args()
    read.out.mkdir(parents=True, exist_ok=True)
    return read


def hashes(observations):
    """FNV-1a of each row of numbers, over its bytes as little-endian float32; -0.0 counts as 0.0."""
    rows = np.ascontiguousarray(observations, dtype="<f4") + np.float32(0)
    octets = np.ascontiguousarray(rows.view(np.uint8).T).astype(np.uint64)
    hash_ = np.full(rows.shape[0], OFFSET)
    with np.errstate(over="ignore"):
        for octet in octets:
            hash_ = (hash_ ^ octet) * PRIME
    return [f"{value:016x}" for value in hash_]


def sparse(row):
    """An observation without its zeros: indexes, and the values there."""
    (at,) = np.nonzero(row)
    return [at.tolist(), [float(value) for value in row[at]]]


def write(folder, name, lines):
    """Writes a recording; the same lines give the same bytes."""
    path = folder / f"{name}.jsonl.gz"
    with path.open("wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as packed:
        for line in lines:
            packed.write(json.dumps(line, separators=(",", ":")).encode() + b"\n")
    print(f"{path}: {sum('type' in line for line in lines)} episodes, {sum('t' in line for line in lines)} steps")
