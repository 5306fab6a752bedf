"""The clock of every script here: the best of several rounds, as one JSON line."""

import json
import time


def report(name, rounds, steps, round_):
    """Prints how many of `steps` steps a second the best of `rounds` calls of `round_` made."""
    best = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        round_()
        best = min(best, time.perf_counter() - start)
    print(json.dumps({"name": name, "value": round(steps / best, 2), "unit": "steps/s"}), flush=True)
