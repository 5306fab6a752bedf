"""A window for `render_mode="human"`, drawn by pygame where that is installed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium.error import DependencyNotInstalled
from numpy.typing import NDArray


def check_render_mode(render_mode: str | None, known: Sequence[str]) -> None:
    """Refuses a mode that is not there, or that cannot work here."""
    if render_mode is not None and render_mode not in known:
        raise ValueError(
            f"render_mode: there is no mode {render_mode!r}; there is: None, {', '.join(known)}"
        )
    if render_mode == "human":
        _pygame()


def _pygame() -> Any:
    try:
        import pygame
    except ImportError as error:
        raise DependencyNotInstalled(
            'render_mode="human" wants pygame: `pip install pygame`, '
            'or take render_mode="rgb_array"'
        ) from error
    return pygame


class Window:
    """A window that shows pictures at the pace of the environment."""

    def __init__(self, title: str, fps: int) -> None:
        """Opens with the first picture."""
        self._pygame = _pygame()
        self._title, self._fps = title, fps
        self._clock: Any = None
        self._screen: Any = None

    def show(self, pixels: NDArray[np.uint8]) -> None:
        """Shows a picture, and waits until its time is over."""
        pygame = self._pygame
        size = (pixels.shape[1], pixels.shape[0])
        if self._screen is None:
            pygame.display.init()
            pygame.display.set_caption(self._title)
            self._screen = pygame.display.set_mode(size)
            self._clock = pygame.time.Clock()
        pygame.event.pump()
        picture = pygame.image.frombuffer(np.ascontiguousarray(pixels).tobytes(), size, "RGB")
        self._screen.blit(picture, (0, 0))
        pygame.display.flip()
        self._clock.tick(self._fps)

    def close(self) -> None:
        """Closes it."""
        if self._screen is not None:
            self._pygame.display.quit()
            self._screen = None
