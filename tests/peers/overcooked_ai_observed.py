"""overcooked_ai: the cramped room, one kitchen, uniform actions, with the lossless observation of both cooks.

`overcooked_ai_observed.py DIALECT` measures the package of `overcooked-ai-1.1.0` or of `overcooked-ai-old`. Neither has
batches; episodes do not restart.
"""

import random
import sys
from pathlib import Path

from clock import report

sys.path.append(str(Path(__file__).resolve().parents[1] / "parity" / "record"))
import package

STEPS = 2_000

name = sys.argv[1]
dialect = package.Dialect(name)
kitchen = dialect.open(dialect.named()["cramped_room"], STEPS, None).world
draw = random.Random(1)


def play():
    state, seen = kitchen.get_standard_start_state(), 0
    for _ in range(STEPS):
        actions = draw.choice(dialect.actions), draw.choice(dialect.actions)
        state, _ = kitchen.get_state_transition(state, actions)
        seen += sum(observation.sum() for observation in kitchen.lossless_state_encoding(state, horizon=STEPS))
    assert state.timestep == STEPS and seen > 0


play()
report(f"{name}: its original, one instance with observations", 4, STEPS, play)
