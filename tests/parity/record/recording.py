"""Recordings of Overcooked dialects, in format 3: gzip, one JSON object a line; a header for each episode, then a line a step.

A place is [x, y]; a direction is 0 north, 1 south, 2 east, 3 west. A thing is a text: "" nothing, "o" onion,
"t" tomato, "d" dish, "soot" a soup of two onions and a tomato. A pot is [x, y, onions, tomatoes, tick], with tick -1
while it does not cook. `lying` has [x, y, thing] of counters, in the order of putting down where the original has one.
`oh` has the CRC-32 of each observation as little-endian float32, by seat and by encoding; `obs`, in some lines, has
the observations themselves without their zeros.
"""

import gzip
import json
import zlib

import numpy as np

# Every so many steps a line has the observations themselves.
WHOLE_EVERY = 100


def soup(onions, tomatoes):
    return "s" + "o" * onions + "t" * tomatoes


def observed(observations, whole):
    """The fields of a line that tell what the cooks observe; `observations` is a list for each seat."""
    flat = [[np.asarray(values, dtype="<f4").ravel() for values in seat] for seat in observations]
    fields = {"oh": [[f"{zlib.crc32(values.tobytes()):08x}" for values in seat] for seat in flat]}
    if whole:
        sparse = lambda values: [np.flatnonzero(values).tolist(), values[np.flatnonzero(values)].tolist()]
        fields["obs"] = [[sparse(values) for values in seat] for seat in flat]
    return fields


class Recording:
    """Writes the episodes of a kitchen."""

    def __init__(self, path):
        self.file = gzip.GzipFile(path, "wb", mtime=0)

    def line(self, fields):
        self.file.write(json.dumps(fields, separators=(",", ":")).encode() + b"\n")

    def close(self):
        self.file.close()


def finite(value):
    """A reward as a float32 that is finite: infinity is the greatest."""
    limit = float(np.finfo(np.float32).max)
    return float(np.clip(float(value), -limit, limit))
