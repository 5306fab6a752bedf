"""Fixtures of the tests."""

import os

# A window without a screen, for `render_mode="human"`.
os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
# The networks of the trainers are so small that more threads only wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")
