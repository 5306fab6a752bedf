"""The command line of `python -m coplay.clone`."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from coplay.clone import Report, report, train

ABOUT = """\
Trains a human proxy by behaviour cloning, and reports how well it predicts people whom it has not seen.

DATA is the data folder of a study, what `coplay export --format parquet` or `coplay crate` wrote, or a table of human trials
published with overcooked-ai (.pickle or .csv). The model is an ONNX file that people can play with."""

EXAMPLES = """\
examples:
  python -m coplay.clone my-data --out human.onnx --stage play
      Learn from the people of one stage.
  python -m coplay.clone my-data --out human.onnx --params '{"layout": "cramped_room"}'
      Learn from the episodes of one kitchen.
  python -m coplay.clone clean_train_trials.pickle --out human.onnx --stage cramped_room
      Learn from human trials of overcooked-ai, whose stages are the kitchens.
  python -m coplay.clone my-data --model other.onnx
      Report on a model that exists.

A study names the model as a partner: players: [self, {policy: human.onnx, temperature: 1}]"""


def read_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        "python -m coplay.clone", description=ABOUT, epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path, metavar="DATA", help="where people played")
    parser.add_argument("--out", type=Path, metavar="FILE.onnx", help="the model to write")
    parser.add_argument("--model", type=Path, metavar="FILE.onnx", help="report on this model, instead of training one")
    parser.add_argument("--env", metavar="ID", help="the environment, if the data have several")
    parser.add_argument("--stage", metavar="ID", help="the stage to learn from (default: all)")
    parser.add_argument("--params", type=json.loads, default={}, metavar="JSON", help="parameters that the episodes must have")
    parser.add_argument("--observation", metavar="FIELD", help="the field of the observation that the model takes")
    parser.add_argument("--hidden", type=int, nargs="+", default=[128, 128], metavar="N", help="sizes of the hidden layers")
    parser.add_argument("--steps", type=int, default=6000, help="steps of learning, at most")
    parser.add_argument("--held-out", type=float, default=0.2, metavar="SHARE", help="share of the people to try it on")
    parser.add_argument("--seed", type=int, default=1, help="the same seed gives the same model")
    parser.add_argument("--episodes", type=int, default=32, help="episodes that the clone plays for its score in each setting")
    parser.add_argument("--report", type=Path, metavar="FILE.json", help="also write the report as JSON")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    given = parser.parse_args(arguments)
    if (given.out is None) == (given.model is None):
        parser.error("name the model to write with --out, or one that exists with --model")
    if not isinstance(given.params, dict):
        parser.error('--params is a JSON object, such as {"layout": "cramped_room"}')
    if given.steps < 1 or given.episodes < 1 or min(given.hidden) < 1:
        parser.error("--steps, --episodes and --hidden must be at least 1")
    return given


def make_report(given: argparse.Namespace) -> Report:
    """Does what the command line asks for."""

    def tell(line: str) -> None:
        print(line, file=sys.stderr, flush=True)

    common = {"env": given.env, "stage": given.stage, "params": given.params, "held_out": given.held_out}
    common |= {"seed": given.seed, "episodes": given.episodes, "tell": tell}
    if given.model is not None:
        return report(given.model, given.data, **common)
    more = {"observation": given.observation, "hidden": given.hidden, "steps": given.steps}
    return train(given.data, given.out, **common, **more)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; the exit code is 2 if the data or the options are wrong."""
    given = read_arguments(arguments)
    try:
        made = make_report(given)
    except (OSError, ValueError, RuntimeError, ImportError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    text = json.dumps(made.to_dict(), indent=2) + "\n"
    if given.report is not None:
        given.report.write_text(text, encoding="utf-8")
    sys.stdout.write(text if given.json else made.markdown())
    return 0
