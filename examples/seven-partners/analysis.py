"""Scores that people reached with each partner, and their opinions of it.

    coplay export --data coplay-data --out tables
    python3 analysis.py tables            # a table to read
    python3 analysis.py tables --json     # the same for scripts

Reads the rounds of the stage `play`, and the answers of the stage `rate`, which follows each round. A round counts if it
was played to its end. Each person counts once per partner: means are over people, and the standard errors too. Of the
answers, those that are numbers count; the items are those that the data have. The rows of the AI partners in `seats.csv`
have what was drawn: partner, algorithm, training seed, checkpoint. Needs nothing but Python.
"""

import csv
import json
import re
import statistics
import sys
from collections import defaultdict
from pathlib import Path


def rows(folder, table):
    with open(Path(folder) / f"{table}.csv", newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def name_partner(row):
    """Checkpoints of one algorithm are one partner: `cec_2` is a checkpoint of `cec`."""
    return re.sub(r"_\d+$", "", row["partner"]) if row["algorithm"] else row["partner"]


def read_number(text):
    try:
        return float(text)
    except (TypeError, ValueError):
        return None


def read_answers(folder):
    """The numbers that each person answered, by person and visit: {item: number}; a matrix has an item per row."""
    answers = defaultdict(dict)
    for row in rows(folder, "responses"):
        if row["stage_id"] != "rate":
            continue
        value = json.loads(row["value"]) if row["value"].startswith("{") else {row["item"]: row["value"]}
        numbers = ((item, read_number(answer)) for item, answer in value.items())
        answers[row["participant_id"], int(row["visit"])].update(
            {item: number for item, number in numbers if number is not None})
    return answers


def read_rounds(folder):
    """One dict per round: person, partner, algorithm, training seed, checkpoint, model, side, score and ratings."""
    ended = {row["episode_id"]: row["ended_on"] for row in rows(folder, "episodes")}
    answers = read_answers(folder)
    rounds = defaultdict(dict)
    for row in rows(folder, "seats"):
        if row["stage_id"] != "play" or ended.get(row["episode_id"]) != "played":
            continue
        found = rounds[row["episode_id"]]
        if row["partner"]:
            found.update(partner=name_partner(row), algorithm=row["algorithm"], training_seed=row["training_seed"],
                         checkpoint=row["checkpoint"], model=row["model_sha256"])
        else:
            # The questions are the visit after the round.
            ratings = answers[row["participant_id"], int(row["visit"]) + 1]
            found.update(person=row["participant_id"], side=int(row["seat"]), score=float(row["score"]),
                         ratings=ratings)
    return [found for found in rounds.values() if "partner" in found and "person" in found]


def summarise(values):
    """Mean over people, its standard error (`None` for one person), and their number, of pairs of person and value."""
    people = defaultdict(list)
    for person, value in values:
        people[person].append(value)
    means = [statistics.fmean(own) for own in people.values()]
    error = statistics.stdev(means) / len(means) ** 0.5 if len(means) > 1 else None
    return {"mean": statistics.fmean(means), "se": error, "people": len(means)} if means else None


def compare(rounds, items):
    table = {}
    for partner in sorted({found["partner"] for found in rounds}):
        own = [found for found in rounds if found["partner"] == partner]
        line = {"algorithm": own[0]["algorithm"], "rounds": len(own),
                "checkpoints": sorted({found["checkpoint"] for found in own}),
                "left": sum(found["side"] == 0 for found in own),
                "score": summarise((found["person"], found["score"]) for found in own)}
        for item in items:
            line[item] = summarise((found["person"], found["ratings"][item]) for found in own if item in found["ratings"])
        table[partner] = line
    return table


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    rounds = read_rounds(sys.argv[1])
    items = list(dict.fromkeys(item for found in rounds for item in found["ratings"]))
    table = compare(rounds, items)
    if "--json" in sys.argv:
        return print(json.dumps(table, indent=1))
    wide = max([7, *(len(partner) for partner in table)])
    print(f"{'partner':{wide}} {'rounds':>6} {'left':>5}", *(f"{item:>12}" for item in ("score", *items)))
    for partner, line in table.items():
        cell = lambda of: "" if of is None else f"{of['mean']:.1f}" + (f" ±{of['se']:.1f}" if of["se"] else "")
        print(f"{partner:{wide}} {line['rounds']:6} {line['left']:5}",
              *(f"{cell(line[item]):>12}" for item in ("score", *items)))


if __name__ == "__main__":
    main()
