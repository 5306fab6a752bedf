"""Which part of an observation a clone is given, so that one network can see several kitchens or layouts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coplay.spec import Field, Spec


@dataclass(frozen=True)
class Inputs:
    """The inputs of the network: the whole observation, or fields by name."""

    fields: tuple[tuple[str, int], ...]
    """The name and the size of each input."""
    is_whole: bool
    """True if the only input takes the whole observation."""

    def cut(self, spec: Spec, observations: NDArray[np.float32]) -> NDArray[np.float32]:
        """The inputs side by side, `[row, value]`; fields that are smaller here end with zeros."""
        if self.is_whole:
            return observations
        by_name = {field.name: field for field in spec.observation}
        parts = []
        for name, size in self.fields:
            own = observations[:, by_name[name].slice]
            parts.append(np.pad(own, [(0, 0), (0, size - own.shape[1])]))
        return np.concatenate(parts, axis=1)


def choose_inputs(specs: Sequence[tuple[str, Spec]], observation: str | None) -> Inputs:
    """The inputs for environments that are named by their stage.

    With `observation` that field alone. Otherwise the whole observation, if it is the same everywhere; if not, all
    fields that have the same shape everywhere, or are lists of different lengths. Raises `ValueError` if there are none.
    """
    found = [{field.name: field for field in spec.observation} for _, spec in specs]
    if observation is not None:
        for (stage, _), fields in zip(specs, found, strict=True):
            if observation not in fields:
                known = ", ".join(fields)
                raise ValueError(f"observation: stage {stage} has no field {observation!r}; it has {known}")
        return Inputs(((observation, max(_size(fields[observation]) for fields in found)),), False)
    if all(spec.observation == specs[0][1].observation for _, spec in specs):
        return Inputs((("obs", specs[0][1].observation_len),), True)
    names = set.intersection(*(set(fields) for fields in found))
    for (stage, _), fields in zip(specs, found, strict=True):
        odd = [name for name in fields if name not in names]
        if odd:
            stages = ", ".join(sorted({stage for stage, _ in specs}))
            raise ValueError(
                f"stage {stage} observes {', '.join(odd)}, and other episodes do not; clone one stage (stage) of {stages}, "
                "or one field (observation)"
            )
    kept = [name for name in found[0] if _is_list([fields[name] for fields in found])]
    if not kept:
        raise ValueError(
            "the episodes have observations of different shapes and no field in common; clone one stage (stage), or the "
            "episodes of one layout (params)"
        )
    return Inputs(tuple((name, max(_size(fields[name]) for fields in found)) for name in kept), False)


def _size(field: Field) -> int:
    return math.prod(field.shape)


def _is_list(fields: Sequence[Field]) -> bool:
    """Returns whether fields have one shape, or shapes that differ in their first dimension alone."""
    return len({field.shape for field in fields}) == 1 or len({field.shape[1:] for field in fields}) == 1
