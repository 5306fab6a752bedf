"""What the tests share."""

import os

# A window without a screen, for `render_mode="human"`.
os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
