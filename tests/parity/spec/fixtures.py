"""Writes what the specifications of the generator and of Dual Destination do: `fixtures.py tests/golden/dialects`."""

import json
import os
import random
import sys

import generator
from dual_destination import DualDestination


def kitchens(count):
    made = []
    for number in range(count):
        rng, draws = random.Random(f"kitchen {number}"), []

        def draw(bound):
            # Every family comes as often.
            draws.append(rng.randrange(bound) if draws else number % bound)
            return draws[-1]

        rows = generator.make(draw)
        made.append({"draws": draws, "rows": rows})
    return made


def toward(agent, goal):
    (x, y), (gx, gy) = agent, goal
    return 0 if gx > x else 2 if gx < x else 1 if gy > y else 3 if gy < y else 4


def episodes(count):
    played = []
    for number in range(count):
        rng = random.Random(f"destination {number}")
        cells = [[x, y] for x in range(5) for y in range(5)]
        places = rng.sample(cells, 6) if number else [[0, 2], [4, 2], [2, 0], [2, 4], [2, 1], [2, 3]]
        world = DualDestination(places[:2], places[2:4], places[4:])
        look = lambda: [world.observe(0), world.observe(1)]
        episode = {"agents": places[:2], "green": places[2:4], "pink": places[4:], "observations": look(), "steps": []}
        for _ in range(40):
            actions = [toward(a, g) if rng.random() < 0.7 else rng.randrange(5) for a, g in zip(world.agents, world.green)]
            reward = world.step(actions)
            step = {"actions": actions, "agents": [list(agent) for agent in world.agents], "reward": reward}
            episode["steps"].append({**step, "observations": look()})
        played.append(episode)
    return played


def main():
    for name, content in [("cec_generated", kitchens(40)), ("dual_destination", episodes(5))]:
        with open(os.path.join(sys.argv[1], f"{name}.json"), "w") as file:
            json.dump(content, file, separators=(",", ":"))
            file.write("\n")


main()
