"""Uses an installed wheel as people do: a study, a dev server, a training step. Prints `N passed in 1.5s`."""

import json
import os
import statistics
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

PROGRAM = str(Path(sys.executable).parent / ("coplay.exe" if os.name == "nt" else "coplay"))

# From the start of the program to the whole first page, in milliseconds. More is reported, and fails at four times as
# much: other programs may keep this machine busy.
FIRST_PAGE_MS = 300


def run(*words: str) -> str:
    """Run the command and return what it prints; it has to succeed."""
    done = subprocess.run([PROGRAM, *words], capture_output=True, text=True)
    assert done.returncode == 0, f"coplay {' '.join(words)}: {done.stdout}{done.stderr}"
    return done.stdout


def fetch(url: str) -> tuple[str, bytes]:
    """Return media type and body of a page."""
    with urllib.request.urlopen(url, timeout=30) as answer:
        assert answer.status == 200, url
        return answer.headers["content-type"], answer.read()


def open_dev_server() -> float:
    """Start the server, load the page and what it loads, and return the time to the first page in milliseconds."""
    begun = time.perf_counter()
    words = [PROGRAM, "dev", "s", "--port", "0", "--fresh", "--json"]
    server = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert server.stdout is not None
        told = json.loads(server.stdout.readline())
        kind, page = fetch(told["links"][0])
        taken = (time.perf_counter() - begun) * 1000
        assert kind.startswith("text/html") and b"boot.js" in page, kind
        kind, client = fetch(told["url"] + "client_wasm_bg.wasm")
        assert kind == "application/wasm" and client.startswith(b"\0asm"), kind
        return taken
    finally:
        server.kill()
        server.wait()


def train() -> None:
    """Take a step in one environment and in many, and let their rewards come in."""
    import coplay
    import numpy

    assert "overcooked" in coplay.environments()
    env = coplay.make("overcooked", layout="cramped_room", partners="cook")
    observation, info = env.reset(seed=7)
    assert observation.dtype == numpy.float32 and info["action_mask"].any()
    weights = numpy.zeros((env.action_space.n, observation.size), numpy.float32)
    for _ in range(50):
        logits = weights @ observation
        action = int(numpy.argmax(logits))
        observation, reward, terminated, truncated, info = env.step(action)
        weights[action] += 0.01 * float(reward) * observation
        assert not terminated and not truncated
    env.close()


def main() -> None:
    """Do everything once, and the start of the server five times."""
    passed, begun = 0, time.perf_counter()
    assert run("--version").startswith("coplay ")
    run("new", "overcooked", "s")
    run("lint", "s")
    passed += 2
    rehearsed = json.loads(run("rehearse", "s", "--sessions", "2", "--faults", "none", "--json"))
    assert rehearsed["sessions"] == 2 and not rehearsed["stuck"], rehearsed
    passed += 1
    times = [open_dev_server() for _ in range(5)]
    typical = statistics.median(times)
    shown = ", ".join(f"{taken:.0f}" for taken in times)
    print(f"coplay dev: {typical:.0f} ms from the start to the first page ({shown})")
    assert typical <= FIRST_PAGE_MS * 4, f"the first page takes {typical:.0f} ms, and not at most {FIRST_PAGE_MS}"
    if typical > FIRST_PAGE_MS:
        load = os.getloadavg()[0] if hasattr(os, "getloadavg") else "unknown"
        print(f"that is more than {FIRST_PAGE_MS} ms; the load of this machine is {load}")
    passed += 1
    train()
    passed += 1
    share = Path(sys.prefix) / "share"
    for file in ["man/man1/coplay.1", "bash-completion/completions/coplay", "doc/coplay/third-party-notices.txt"]:
        assert (share / file).is_file(), file
    passed += 1
    print(f"{passed} passed in {time.perf_counter() - begun:.1f}s")


main()
