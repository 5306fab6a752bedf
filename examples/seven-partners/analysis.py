"""Scores that people reached with each partner, and their opinions of it.

    coplay export --data coplay-data --out tables
    python3 analysis.py tables            # a table to read
    python3 analysis.py tables --json     # the same for scripts

A round counts if it was played to its end. Each person counts once per partner: means are over people, and the standard
errors too. The rows of the AI partners in `seats.csv` have what was drawn: partner, algorithm, training seed, checkpoint
and side. Needs nothing but Python.
"""

import csv
import json
import re
import statistics
import sys
from collections import defaultdict
from pathlib import Path

ITEMS = ("adapted", "consistent", "human_like", "in_my_way", "frustrating", "enjoyed")


def rows(folder, table):
    with open(Path(folder) / f"{table}.csv", newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def read_rounds(folder):
    """One dict per round of `play`: person, partner, algorithm, checkpoint, side, score and ratings."""
    ended = {row["episode_id"]: row["ended_on"] for row in rows(folder, "episodes")}
    rounds = {}
    for row in rows(folder, "seats"):
        if row["stage_id"] != "play" or ended.get(row["episode_id"]) != "played":
            continue
        found = rounds.setdefault(row["episode_id"], {})
        if row["partner"]:
            # `cec_2` is a checkpoint of `cec`.
            found["partner"] = re.sub(r"_\d+$", "", row["partner"])
            found.update(algorithm=row["algorithm"], training_seed=row["training_seed"],
                         checkpoint=row["checkpoint"], model=row["model_sha256"])
        else:
            found.update(person=row["participant_id"], visit=int(row["visit"]),
                         side=int(row["seat"]), score=float(row["score"]))
    answers = defaultdict(dict)
    for row in rows(folder, "responses"):
        if row["stage_id"] == "rate":
            key = (row["participant_id"], int(row["visit"]))
            if row["item"] == "partner":
                answers[key].update({item: float(value) for item, value in json.loads(row["value"]).items()})
            else:
                answers[key][row["item"]] = float(row["value"])
    for found in rounds.values():
        # The questions are the visit after the round.
        found["ratings"] = answers.get((found.get("person"), found.get("visit", -2) + 1), {})
    return [found for found in rounds.values() if "partner" in found and "person" in found]


def summarise(values):
    """Mean over people, its standard error (`None` for one person), and the number of people."""
    values = list(values)
    error = statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else None
    return {"mean": statistics.fmean(values), "se": error, "people": len(values)} if values else None


def compare(rounds):
    table = {}
    for partner in sorted({found["partner"] for found in rounds}):
        own = [found for found in rounds if found["partner"] == partner]
        line = {"algorithm": own[0]["algorithm"], "rounds": len(own),
                "checkpoints": sorted({found["checkpoint"] for found in own}),
                "left": sum(found["side"] == 0 for found in own),
                "score": summarise(found["score"] for found in own)}
        for item in (*ITEMS, "quality"):
            line[item] = summarise(found["ratings"][item] for found in own if item in found["ratings"])
        table[partner] = line
    return table


def main():
    table = compare(read_rounds(sys.argv[1]))
    if "--json" in sys.argv:
        return print(json.dumps(table, indent=1))
    print(f"{'partner':10} {'rounds':>6} {'left':>5} {'score':>12}", *(f"{item:>11}" for item in (*ITEMS, "quality")))
    for partner, line in table.items():
        cell = lambda of: "" if of is None else f"{of['mean']:.1f}" + (f" ±{of['se']:.1f}" if of["se"] else "")
        print(f"{partner:10} {line['rounds']:6} {line['left']:5} {cell(line['score']):>12}",
              *(f"{cell(line[item]):>11}" for item in (*ITEMS, "quality")))


if __name__ == "__main__":
    main()
