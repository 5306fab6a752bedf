"""Makes the environment that a study names."""

from __future__ import annotations

import difflib
import hashlib
import importlib
import importlib.util
import inspect
import os
import pkgutil
import platform
import sys
from collections.abc import Callable, Mapping
from functools import partial
from importlib import metadata
from typing import Any

from .serve import Refusal

KEYS = (
    "python",
    "gymnasium",
    "pettingzoo",
    "kwargs",
    "seats",
    "action_names",
    "actions",
    "noop",
    "keys",
    "tick_hz",
    "frame_skip",
    "horizon",
    "render",
    "picture",
    "wrappers",
    "infos",
    "policy",
    "points",
    "title",
    "folder",
)
"""The keys of a world in the hello of the protocol."""

NAMESPACES = {"ALE": "ale_py"}
"""Packages that register the environments of a namespace when they are imported."""


def make_environment(world: dict[str, Any]) -> tuple[str, Any]:
    """The name of the environment, and the environment with its wrappers."""
    for key in world:
        if key not in KEYS:
            raise Refusal(f"an environment in Python has no key `{key}`; it has {', '.join(KEYS[:-1])}")
    ways = [way for way in ("python", "gymnasium", "pettingzoo") if world.get(way)]
    if len(ways) != 1:
        raise Refusal("an environment in Python has exactly one of `python`, `gymnasium` and `pettingzoo`")
    sys.path.insert(0, world.get("folder") or os.getcwd())
    name = str(world[ways[0]])
    wants_pixels = world.get("render", "auto") != "draw"
    kwargs = dict(world.get("kwargs") or {})
    if ways[0] == "python":
        env = _call(name, find(name, world, "make"), kwargs, wants_pixels)
        name = os.path.basename(name.partition(":")[0]).removesuffix(".py")
    elif ways[0] == "gymnasium":
        env = _make_gymnasium(name, kwargs, wants_pixels)
    else:
        env = _make_pettingzoo(name, kwargs, wants_pixels)
    for wrapper in world.get("wrappers") or []:
        env = _wrap(env, wrapper, world)
    return name, env


def find(name: str, world: dict[str, Any], default: str) -> Any:
    """The object that `my_game.py:make` or `package.module:make` names."""
    # A Windows path may contain a colon itself.
    path, colon, attribute = name.rpartition(":")
    if not colon or attribute.endswith(".py"):
        path, attribute = name, default
    module = _load(path, world)
    found = module
    for part in attribute.split("."):
        if not hasattr(found, part):
            there = [key for key, value in vars(module).items() if callable(value) and not key.startswith("_")]
            hint = f": write `{path}:{there[0]}`" if there else ""
            raise Refusal(f"{path} has no `{attribute}`; it has {', '.join(there) or 'no functions'}{hint}")
        found = getattr(found, part)
    return found


def _load(path: str, world: dict[str, Any]) -> Any:
    if not path.endswith(".py"):
        return _import(path)
    path = os.path.join(world.get("folder") or os.getcwd(), path)
    name = os.path.basename(path).removesuffix(".py")
    if name in sys.modules and getattr(sys.modules[name], "__file__", None) == path:
        return sys.modules[name]
    if not os.path.isfile(path):
        raise Refusal(f"there is no file {path}")
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise Refusal(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except ModuleNotFoundError as error:
        raise Refusal(_missing(error, path)) from None
    return module


def _import(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise Refusal(_missing(error, name)) from None


def _missing(error: ModuleNotFoundError, what: str) -> str:
    needed = f"{what} needs the Python package `{error.name}`"
    remedy = "add it to the requirements file of the study (`requirements: requirements.txt`)"
    if sys.platform == "emscripten":
        return f"{needed}, which the page does not have: {remedy}"
    return (
        f"{needed}, which {sys.executable} does not have: {remedy}, "
        f"or name an interpreter that has it in the variable COPLAY_PYTHON"
    )


def _call(name: str, make: Any, kwargs: dict[str, Any], wants_pixels: bool) -> Any:
    """Calls a function that makes an environment, and asks it for pictures if it can be asked."""
    if not callable(make):
        return make
    try:
        parameters: Mapping[str, inspect.Parameter] = inspect.signature(make, follow_wrapped=False).parameters
    except (TypeError, ValueError):
        return make(**kwargs)
    if wants_pixels and "render_mode" in parameters and "render_mode" not in kwargs:
        kwargs["render_mode"] = "rgb_array"
    _refuse_unknown_arguments(name, parameters, kwargs)
    return make(**kwargs)


def _refuse_unknown_arguments(name: str, parameters: Mapping[str, inspect.Parameter], kwargs: dict[str, Any]) -> None:
    """Refuses arguments that the function which makes the environment does not take."""
    if any(parameter.kind == parameter.VAR_KEYWORD for parameter in parameters.values()):
        return
    unknown = [argument for argument in kwargs if argument not in parameters]
    if unknown:
        raise _unknown_argument(name, unknown[0], f"it takes {', '.join(parameters) or 'none'}")


def _unknown_argument(name: str, argument: str, why: str) -> Refusal:
    place = f" `{argument}` is a key of the block `env`: write it there." if argument in KEYS[:-1] else ""
    return Refusal(
        f"{name} takes no argument `{argument}`; {why}.{place} "
        f"Arguments come from `config` of the stage and from `kwargs`"
    )


def _make_from_package(name: str, make: Callable[..., Any], kwargs: dict[str, Any], wants_pixels: bool) -> Any:
    """Makes an environment of a package, with pictures if it can be asked; refuses arguments that it does not take."""
    asked = {"render_mode": "rgb_array"} if wants_pixels and "render_mode" not in kwargs else {}
    try:
        return make(**asked, **kwargs)
    except ModuleNotFoundError as error:
        raise Refusal(_missing(error, name)) from None
    except TypeError as error:
        unknown = [key for key in (*asked, *kwargs) if f"unexpected keyword argument '{key}'" in str(error)]
        if not unknown:
            raise
        if unknown[0] not in asked:
            raise _unknown_argument(name, unknown[0], f"the documentation of {name} lists its arguments") from None
    return make(**kwargs)


def _make_gymnasium(name: str, kwargs: dict[str, Any], wants_pixels: bool) -> Any:
    gymnasium = _import("gymnasium")
    namespace = name.partition("/")[0] if "/" in name else ""
    if namespace and namespace not in {spec.namespace for spec in gymnasium.registry.values()}:
        _import(NAMESPACES.get(namespace, namespace.lower()))
    try:
        return _make_from_package(name, partial(gymnasium.make, name), kwargs, wants_pixels)
    except gymnasium.error.UnregisteredEnv as error:
        raise Refusal(f"Gymnasium knows no environment `{name}`: {error}") from None


def _make_pettingzoo(name: str, kwargs: dict[str, Any], wants_pixels: bool) -> Any:
    dotted = name.replace("/", ".")
    prefixed = dotted if dotted.startswith("pettingzoo.") else f"pettingzoo.{dotted}"
    try:
        module = importlib.import_module(prefixed)
    except ModuleNotFoundError as error:
        if error.name == "pettingzoo" or not str(error.name).startswith("pettingzoo"):
            raise Refusal(_missing(error, name)) from None
        _refuse_unknown(prefixed)
        module = _import(dotted if dotted != prefixed else "pettingzoo")
    make = getattr(module, "parallel_env", None) or getattr(module, "env", None)
    if make is None:
        raise Refusal(f"`{name}` has neither `parallel_env` nor `env`: name it with its version, as in `classic/chess_v6`")
    return _make_from_package(name, make, kwargs, wants_pixels)


def _refuse_unknown(dotted: str) -> None:
    """Refuses an environment that the installed PettingZoo does not have, if it has others of that family."""
    parent, _, name = dotted.rpartition(".")
    try:
        family = importlib.import_module(parent)
    except ModuleNotFoundError:
        return
    versions = [module.name for module in pkgutil.iter_modules(family.__path__) if "_v" in module.name]
    close = difflib.get_close_matches(name, versions, n=3, cutoff=0)
    if close:
        raise Refusal(f"the installed PettingZoo has no `{dotted.removeprefix('pettingzoo.')}`; closest: {', '.join(close)}")


def _wrap(env: Any, wrapper: Any, world: dict[str, Any]) -> Any:
    """Puts a wrapper around: `module:Name`, or `{module:Name: {argument: value}}`."""
    ((name, kwargs),) = wrapper.items() if isinstance(wrapper, dict) else [(wrapper, {})]
    return find(str(name), world, "wrap")(env, **(kwargs or {}))


def list_packages(world: dict[str, Any]) -> dict[str, str]:
    """Versions of the interpreter and of the packages that are loaded, and the hash of the study's own file."""
    packages = {platform.python_implementation(): platform.python_version()}
    loaded = {name.partition(".")[0] for name in sys.modules}
    for module, distributions in metadata.packages_distributions().items():
        if module in loaded:
            packages.update({name: metadata.version(name) for name in distributions})
    for each in list(sys.modules.values()):
        path = getattr(each, "__file__", None) or ""
        folder = os.path.realpath(world.get("folder") or os.getcwd())
        if path.endswith(".py") and os.path.dirname(os.path.realpath(path)) == folder:
            with open(path, "rb") as file:
                packages[os.path.basename(path)] = hashlib.sha256(file.read()).hexdigest()
    return packages
