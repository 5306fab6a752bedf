"""Records a dialect of Overcooked: `main.py DIALECT --out DIR --seed N --episodes N [--layouts a,b] [--steps N] [--random N]
[--original DIR]`.

Without --layouts, all kitchens that come with the original, filled up to twenty with seeded random ones; or as many
random ones as --random says. With --original, neurips2019 and zsc-eval are recorded by a checkout of their repository.
Prints the deliveries of each kitchen.
"""

import argparse
import json
import multiprocessing
import os
import random
import sys

from cook import Cooks
from recording import WHOLE_EVERY, Recording, observed

KITCHENS = 20
PACKAGES = ("overcooked-ai-1.1.0", "overcooked-ai-old")


def dialect(name, checkout=None):
    if checkout:
        import repository

        return repository.dialect(name, checkout)
    if name in PACKAGES:
        import package

        return package.Dialect(name)
    if name == "jaxmarl-0.2.0":
        import jaxmarl_v1

        return jaxmarl_v1.Dialect()
    import specification

    return specification.dialect(name)


def play(source, kitchen, name, text, options, recording, episode):
    rng = random.Random(f"{options.seed}/{name}/{episode}")
    cooks = Cooks(rng, noise=rng.choice([0.05, 0.1, 0.2]) if episode % 5 != 4 else 1.0)
    directions = kitchen.reset(rng)
    record = {**kitchen.record(), **observed(kitchen.observe(), True)}
    swapped = text.startswith("swapped\n")
    header = {
        "type": "episode",
        "format": 3,
        "dialect": source.name,
        "original": source.original,
        "kitchen": name,
        "layout": kitchen.text if hasattr(kitchen, "text") else name if swapped else text,
        "episode": episode,
        "horizon": options.steps,
        "encodings": kitchen.encodings,
        "params": kitchen.params,
        "ordered": source.order,
        "directions": directions,
        "reset": record,
    }
    recording.line(header)
    delivered, done, step = 0, False, 0
    while not done:
        step += 1
        view = kitchen.view()
        view["turn"] = delivered + episode
        actions = cooks.act(view)
        outcome, soups = kitchen.step(actions)
        delivered += soups
        done = outcome["done"]
        line = {"a": actions, **outcome, **kitchen.record()}
        recording.line({**line, **observed(kitchen.observe(), done or step % WHOLE_EVERY == 0)})
    return delivered, step


def record(job):
    options, name, text = job
    source = dialect(options.dialect, options.original)
    kitchen = source.open(text, options.steps, random.Random(f"{options.seed}/{name}"))
    path = os.path.join(options.out, f"{source.name}-{name}.jsonl.gz")
    recording = Recording(path)
    played = [play(source, kitchen, name, text, options, recording, e) for e in range(options.episodes)]
    recording.close()
    return name, [soups for soups, _ in played], sum(steps for _, steps in played)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("dialect")
    parser.add_argument("--out", required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--episodes", type=int, default=10)
    parser.add_argument("--layouts")
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--random", type=int)
    parser.add_argument("--original")
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    source = dialect(options.dialect, options.original)
    named = source.named()
    kitchens = dict(named)
    drawn = max(0, KITCHENS - len(named)) if options.random is None else options.random
    kitchens.update(source.random(options.seed, drawn))
    if options.layouts:
        wanted = options.layouts.split(",")
        unknown = [name for name in wanted if name not in kitchens]
        if unknown:
            sys.exit(f"there is no layout {unknown[0]}; there are {', '.join(kitchens)}")
        kitchens = {name: kitchens[name] for name in wanted}
    os.makedirs(options.out, exist_ok=True)
    jobs = [(options, name, text) for name, text in kitchens.items()]
    delivered, steps = 0, 0
    # Recipes are global in some originals, so each kitchen has a separate process.
    with multiprocessing.get_context("spawn").Pool(options.processes, maxtasksperchild=1) as pool:
        for name, soups, length in pool.imap(record, jobs):
            delivered += sum(soups)
            steps += length
            print(f"{source.name:<20} {name:<36} deliveries {sum(soups):>4}  {' '.join(map(str, soups))}", flush=True)
    print(json.dumps({"dialect": source.name, "kitchens": len(jobs), "steps": steps, "deliveries": delivered}))


if __name__ == "__main__":
    main()
