"""Pictures of environments: pixels as they are, and lists of shapes in the protocol's form.

A list of shapes is plain Python: `{"width": 8, "height": 5, "background": "#222", "shapes": [...]}` with
`{"rect": [x, y, w, h]}`, `{"circle": [x, y, r]}`, `{"ellipse": [x, y, w, h]}`, `{"line": [x1, y1, x2, y2]}`,
`{"text": "words", "at": [x, y]}`, `{"sprite": "name", "at": [x, y, w, h]}`, `{"progress": 0.5, "at": [x, y, w, h]}`.
Each may have a `color` and an `id`: what keeps its `id` glides from where it was.
"""

from __future__ import annotations

import json
import math
from typing import Any

from .serve import Refusal
from .spaces import np

COLORS = {
    "black": 0x000000FF,
    "blue": 0x3B82F6FF,
    "brown": 0x92663DFF,
    "cyan": 0x22D3EEFF,
    "gray": 0x8A8F98FF,
    "green": 0x22A35AFF,
    "grey": 0x8A8F98FF,
    "orange": 0xF28C28FF,
    "pink": 0xF472B6FF,
    "purple": 0x8B5CF6FF,
    "red": 0xE5484DFF,
    "transparent": 0x00000000,
    "white": 0xFFFFFFFF,
    "yellow": 0xF5C518FF,
}

MOST_DOTS = 96
"""The most dots that a slanting line is drawn with."""


def encode_pixels(picture: Any) -> tuple[int, int, Any]:
    """Width, height and RGB bytes of an array `[row, col, channel]` or `[row, col]`."""
    if np is None:
        raise Refusal("a picture of pixels needs NumPy: add `numpy` to the requirements")
    pixels = np.asarray(picture)
    if pixels.ndim == 2:
        pixels = np.repeat(pixels[:, :, None], 3, axis=2)
    if pixels.ndim != 3 or pixels.shape[2] not in (1, 3, 4) or not pixels.size:
        raise Refusal(
            f"`render` returned an array of shape {pixels.shape}: a picture has the shape (height, width, 3), uint8"
        )
    if pixels.dtype != np.uint8:
        scale = 255.0 if pixels.dtype.kind == "f" and float(pixels.max()) <= 1.0 else 1.0
        pixels = (pixels * scale).clip(0, 255).astype(np.uint8)
    if pixels.shape[2] == 1:
        pixels = np.repeat(pixels, 3, axis=2)
    pixels = np.ascontiguousarray(pixels[:, :, :3])
    return int(pixels.shape[1]), int(pixels.shape[0]), pixels.reshape(-1)


def encode_shapes(picture: Any, sprites: list[str]) -> str:
    """The protocol's JSON of a picture made of shapes."""
    return json.dumps(list_shapes(picture, sprites), allow_nan=False)


def list_shapes(picture: Any, sprites: list[str]) -> dict[str, Any]:
    """A picture made of shapes, with every shape in its plain form."""
    if isinstance(picture, list):
        picture = {"shapes": picture}
    items: list[Any] = []
    for at, shape in enumerate(picture.get("shapes", [])):
        try:
            _add(shape, items, sprites)
        except (KeyError, TypeError, ValueError) as error:
            raise Refusal(f"shape {at} of the picture, {shape!r}: {_told(error)}") from None
    width, height = picture.get("width"), picture.get("height")
    if width is None or height is None:
        width, height = _extent(items)
    background = color_of(picture.get("background", "white"))
    return {"width": float(width), "height": float(height), "background": background, "items": items}


def color_of(color: Any) -> int:
    """A colour as `0xRRGGBBAA`: a name, `#rgb`, `#rrggbb`, `#rrggbbaa`, or numbers from 0 to 255."""
    if isinstance(color, str):
        if color in COLORS:
            return COLORS[color]
        digits = color.removeprefix("#")
        if color.startswith("#") and len(digits) == 3:
            digits = "".join(2 * digit for digit in digits)
        if color.startswith("#") and len(digits) in (6, 8):
            return int(digits.ljust(8, "f"), 16)
        raise ValueError(f"there is no colour {color!r}: write `#rrggbb` or one of {', '.join(COLORS)}")
    red, green, blue, *rest = (int(part) for part in color)
    return red << 24 | green << 16 | blue << 8 | (rest[0] if rest else 255)


def _add(shape: dict[str, Any], items: list[Any], sprites: list[str]) -> None:
    known = int(shape.get("id", 0))
    color = color_of(shape.get("color", "black"))
    if "rect" in shape:
        items.append([known, *_numbers(shape["rect"], 4), "rect", float(shape.get("radius", 0)), color])
    elif "circle" in shape:
        x, y, r = _numbers(shape["circle"], 3)
        items.append([known, x - r, y - r, 2 * r, 2 * r, "ellipse", color])
    elif "ellipse" in shape:
        items.append([known, *_numbers(shape["ellipse"], 4), "ellipse", color])
    elif "line" in shape:
        _add_line(_numbers(shape["line"], 4), float(shape.get("width", 0.1)), known, color, items)
    elif "text" in shape:
        (x, y), size = _numbers(shape["at"], 2), float(shape.get("size", 0.5))
        text = str(shape["text"])
        width = max(size, 0.6 * size * len(text))
        items.append([known, x - width / 2, y - size / 2, width, size, "text", text, color])
    elif "sprite" in shape:
        name = shape["sprite"]
        if name not in sprites:
            raise ValueError(f"there is no sprite {name!r} in `sprites`, which has {', '.join(sprites) or 'none'}")
        items.append([known, *_numbers(shape["at"], 4), "sprite", sprites.index(name)])
    elif "progress" in shape:
        part = min(1.0, max(0.0, float(shape["progress"])))
        items.append([known, *_numbers(shape["at"], 4), "progress", part, color])
    else:
        raise ValueError("it has none of rect, circle, ellipse, line, text, sprite, progress")


def _add_line(ends: list[float], width: float, known: int, color: int, items: list[Any]) -> None:
    """A line is a rectangle if it is level or upright, and a row of dots otherwise: draw lists have no lines."""
    x1, y1, x2, y2 = ends
    half = width / 2
    if x1 == x2 or y1 == y2:
        box = [min(x1, x2) - half, min(y1, y2) - half, abs(x2 - x1) + width, abs(y2 - y1) + width]
        items.append([known, *box, "rect", half, color])
        return
    length = math.hypot(x2 - x1, y2 - y1)
    dots = max(2, min(MOST_DOTS, 1 + math.ceil(2 * length / max(width, 1e-6))))
    for dot in range(dots):
        part = dot / (dots - 1)
        x, y = x1 + part * (x2 - x1), y1 + part * (y2 - y1)
        items.append([0, x - half, y - half, width, width, "ellipse", color])


def _numbers(values: Any, count: int) -> list[float]:
    row = [float(value) for value in values]
    if len(row) != count:
        raise ValueError(f"{count} numbers are needed, and {len(row)} are there")
    return row


def _extent(items: list[Any]) -> tuple[float, float]:
    width = max((item[1] + item[3] for item in items), default=1.0)
    height = max((item[2] + item[4] for item in items), default=1.0)
    return max(width, 1.0), max(height, 1.0)


def _told(error: Exception) -> str:
    return f"it has no {error}" if isinstance(error, KeyError) else str(error)
