"""The program `coplay`, which does what the package does not do itself."""

from __future__ import annotations

import os
import shutil

PROGRAM = "COPLAY_PROGRAM"
"""The environment variable that names the program `coplay`, where it is not in `PATH`."""


def find_program(why: str) -> str:
    """The path of the program. Raises `FileNotFoundError` with `why` it is needed."""
    program = os.environ.get(PROGRAM) or shutil.which("coplay")
    if program is None:
        raise FileNotFoundError(f"{why}, and the program `coplay` is not in PATH; name it with {PROGRAM}")
    return program
