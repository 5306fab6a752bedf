"""Packages that only some calls need."""

from __future__ import annotations

from typing import Any


def import_optional(name: str, why: str) -> Any:
    """Imports a package. Raises `ImportError` with `why` it is needed and how to install it."""
    try:
        return __import__(name, fromlist=["_"])
    except ImportError as error:
        package = name.split(".")[0]
        raise ImportError(f"{why} needs {package}: pip install {package}") from error
