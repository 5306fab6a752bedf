"""The data of a study, as tables, episodes and arrays.

`Dataset` opens an export in Parquet, a study that `coplay crate` wrote, or a data folder, which it exports into a cache
first. Tables are read when they are asked for; states and observations are computed again, step by step, by the
environment itself.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import warnings
import zipfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coplay import _coplay
from coplay._optional import import_optional
from coplay._program import find_program
from coplay.episode import Episode
from coplay.spec import Spec, environments

DICTIONARY = "tables.json"

CRATE = "ro-crate-metadata.json"

LEFT_OUT = "left-out.txt"
"""In an export in the cache: the episodes that it does not have, with the reasons."""

@dataclass(frozen=True)
class Table:
    """One table of an export. Nothing is read before it is asked for."""

    name: str
    description: str
    rows: int
    columns: Mapping[str, str] = field(repr=False)
    """The description of each column, by its name."""
    path: Path = field(repr=False)

    def to_arrow(self, columns: Sequence[str] | None = None, filters: Any = None) -> Any:
        """The table, or some columns and rows of it, as a `pyarrow.Table`."""
        parquet = import_optional("pyarrow.parquet", "reading tables")
        chosen = None if columns is None else list(columns)
        return parquet.read_table(self.path, columns=chosen, filters=filters)

    def to_pandas(self, columns: Sequence[str] | None = None, filters: Any = None) -> Any:
        """The table as a `pandas.DataFrame`; whole numbers with missing values have pandas' type `Int64`."""
        pandas = import_optional("pandas", "a data frame")
        arrow = import_optional("pyarrow", "reading tables")
        kinds = {
            arrow.int16(): pandas.Int16Dtype(),
            arrow.int32(): pandas.Int32Dtype(),
            arrow.int64(): pandas.Int64Dtype(),
            arrow.bool_(): pandas.BooleanDtype(),
        }
        table = self.to_arrow(columns, filters)
        holes = [name for name in table.column_names if table[name].null_count]
        frame = table.drop_columns(holes).to_pandas()
        for name in holes:
            frame[name] = table[name].to_pandas(types_mapper=kinds.get)
        return frame[table.column_names]

    def to_polars(self) -> Any:
        """The table as a `polars.DataFrame`."""
        return import_optional("polars", "a data frame of polars").read_parquet(self.path)

    def scan(self) -> Any:
        """The table as a `polars.LazyFrame`: only what a query needs is read."""
        return import_optional("polars", "a lazy frame").scan_parquet(self.path)


class Dataset:
    """The data of a study.

    `dataset.sessions`, `dataset.steps` and so on are tables (`dataset.tables` lists them), `dataset.episode(id)` is one
    episode, and iteration gives every episode.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, seen: bool = False, cache: str | os.PathLike[str] | None = None
    ) -> None:
        """Opens a data folder, a folder that `coplay export --format parquet` wrote, or what `coplay crate` wrote.

        An archive is unpacked into `cache`. A data folder is exported into `cache` (by default a folder of the user's cache), again if it has changed; `seen`
        adds the frames that pages showed. The program `coplay` must be in `PATH`, or named by `COPLAY_PROGRAM`.
        """
        self.path = Path(path)
        self._data: Path | None = None
        folder = self.path
        if zipfile.is_zipfile(folder):
            folder = _unpack(folder, _cache(cache))
        if (folder / CRATE).is_file():
            self._data = folder / "record"
            folder = folder / "tables"
        if not (folder / DICTIONARY).is_file():
            if not (folder / "episodes").is_dir() and not (folder / "coplay.sqlite").is_file():
                raise FileNotFoundError(
                    f"{folder} is neither a data folder (`episodes`, `coplay.sqlite`) nor an export (`{DICTIONARY}`)"
                )
            self._data = folder
            folder = _export(folder, ["--seen"] if seen else [], _cache(cache))
        self._cache = cache
        self.tables = _read_tables(folder)
        """Every table by its name."""
        self._computed: dict[str, Table] = {}
        self._specs: dict[tuple[str, str], Spec] = {}

    def __repr__(self) -> str:
        rows = ", ".join(f"{table.name}: {table.rows}" for table in self.tables.values())
        return f"Dataset({str(self.path)!r}; {rows})"

    def __getitem__(self, table: str) -> Table:
        """A table by its name."""
        try:
            return self.tables[table]
        except KeyError:
            known = ", ".join(self.tables)
            raise KeyError(f"there is no table {table!r}; there are {known}") from None

    def __getattr__(self, name: str) -> Table:
        tables = self.__dict__.get("tables", {})
        if name in tables:
            found: Table = tables[name]
            return found
        raise AttributeError(f"Dataset has neither an attribute nor a table {name!r}")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.tables]

    @cached_property
    def _seats(self) -> dict[str, list[dict[str, Any]]]:
        seats: dict[str, list[dict[str, Any]]] = {}
        for row in self["seats"].to_arrow().to_pylist():
            seats.setdefault(row["episode_id"], []).append(row)
        return seats

    @cached_property
    def _in_python(self) -> set[str]:
        """The episodes whose environment is a program in Python, which this package does not run."""
        # Tables of earlier programs do not have the kind, and episodes without a database have no row.
        rows = self["episodes"].to_arrow().to_pylist()
        known = {row["episode_id"] for row in rows if row.get("environment") == "python"}
        modules = {seats[0]["module"] for seats in self._seats.values()}
        found = {module for module in modules if self._holds_python(module)}
        return known | {id for id, seats in self._seats.items() if seats[0]["module"] in found}

    def _holds_python(self, module: str | None) -> bool:
        """True if the file of an environment is there, and no WebAssembly."""
        file = self._data / "modules" / f"{module}.wasm" if self._data is not None and module else None
        if file is None or not file.is_file():
            return False
        with file.open("rb") as opened:
            return opened.read(4) != b"\0asm"

    def episode(self, id: str) -> Episode:
        """The episode with this id."""
        return Episode(self, id, self._seats.get(id, []))

    def __iter__(self) -> Iterator[Episode]:
        for id in self._seats:
            yield self.episode(id)

    def __len__(self) -> int:
        return len(self._seats)

    def _source(self, episode: Episode) -> str:
        """The source of the environment of an episode: its id, or the module that was stored."""
        if episode.id in self._in_python:
            raise ValueError(
                f"the environment of episode {episode.id} is a program in Python, which a dataset does not run; "
                "`observations`, `pixels` of a seat, and `video` work"
            )
        if episode.env in environments():
            here = Spec.from_json(_coplay.World(episode.env, json.dumps(episode.params)).spec())
            if here.version == episode.env_version:
                return episode.env
        if self._data is not None and episode._module:
            module = self._data / "modules" / f"{episode._module}.wasm"
            if module.is_file():
                return str(module)
        raise ValueError(
            f"episode {episode.id} was played with {episode.env} {episode.env_version}, which this package does not have; "
            "open the data folder itself, which stores its module"
        )

    def _spec(self, episode: Episode) -> Spec:
        key = (f"{episode.env} {episode.env_version}", json.dumps(episode.params, sort_keys=True))
        if key not in self._specs:
            self._specs[key] = Spec.from_json(_coplay.World(self._source(episode), key[1]).spec())
        return self._specs[key]

    def _compute(self, observation: str, episode: Episode, seat: int) -> list[dict[str, Any]]:
        """The observations (`features`) or pictures (`pixels`) of a seat, state by state, as the program computes them.

        The first call exports those of all episodes into the cache.
        """
        if not 0 <= seat < episode.seats:
            raise ValueError(f"seat: episode {episode.id} has no seat {seat}")
        if observation not in self._computed:
            name = "observations" if observation == "features" else observation
            tables = self.tables
            if name not in tables:
                if self._data is None:
                    raise ValueError(
                        f"the environment of episode {episode.id} is a program in Python: write the export with "
                        f"`--observations {observation}`, or open the data folder"
                    )
                tables = _read_tables(_export(self._data, ["--observations", observation], _cache(self._cache)))
            self._computed[observation] = tables[name]
        wanted = [("episode_id", "==", episode.id), ("seat", "==", seat)]
        rows: list[dict[str, Any]] = self._computed[observation].to_arrow(filters=wanted).to_pylist()
        rows.sort(key=lambda row: row["tick"])
        if [row["tick"] for row in rows] != list(range(episode.ticks + 1)):
            raise ValueError(_tell_missing(observation, episode, seat, len(rows)))
        return rows

    def statistics(self, function: Callable[[Episode], Mapping[str, Any] | Any]) -> Any:
        """A data frame with a row per episode: its keys, and what the function gives for it.

        The function gets an `Episode`, and gives a value, or several by name.
        """
        pandas = import_optional("pandas", "a data frame")
        rows = []
        for episode in self:
            value = function(episode)
            named = dict(value) if isinstance(value, Mapping) else {"value": value}
            keys = {"episode_id": episode.id, "stage_id": episode.stage, "group_id": episode.group}
            rows.append({**keys, "round": episode.round, **named})
        return pandas.DataFrame(rows)

    def to_numpy(
        self,
        *,
        seat: int,
        observation: str = "features",
        stage: str | None = None,
        episodes: Collection[str] | None = None,
        human_only: bool = False,
        demonstrations_only: bool = False,
        scale: int = 8,
    ) -> dict[str, NDArray[Any]]:
        """The steps of a seat for offline reinforcement learning, over all episodes, or those of a stage, or some by id.

        `observation` is `"features"` (what policies see), `"grid"` (the field of it with rows, columns and channels),
        `"pixels"` (what people see), or `"none"`. The arrays are
        `observations`, `next_observations`, `actions`, `rewards`, `terminations`, `truncations`, `is_first`, `is_last`,
        `is_human` and `episodes` (the number of the episode); `human_only` keeps the steps that a person played,
        and `demonstrations_only` the episodes of stages with `demonstration: true`.
        Raises `ValueError` if observations of the episodes have different shapes, as those of different layouts have.
        """
        if observation not in ("features", "grid", "pixels", "none"):
            raise ValueError(f'observation: {observation!r} is none of "features", "grid", "pixels", "none"')
        parts: dict[str, list[NDArray[Any]]] = {}
        for number, episode in enumerate(self):
            if episode.ticks == 0 or stage not in (None, episode.stage):
                continue
            if episodes is not None and episode.id not in episodes:
                continue
            if demonstrations_only and not episode.demonstration:
                continue
            if not 0 <= seat < episode.seats:
                raise ValueError(f"seat: episode {episode.id} has no seat {seat}")
            own = episode.steps[episode.steps["seat"] == seat].sort_values("tick")
            last = np.arange(episode.ticks) == episode.ticks - 1
            if own[["terminated", "truncated", "reward"]].isna().any(axis=None):
                raise ValueError(
                    f"episode {episode.id}: its log does not have the rewards and ends of every step, because an older program "
                    "wrote it or a crash cut it off; leave it out: episodes=[...]"
                )
            terminated = own["terminated"].to_numpy(bool)
            columns: dict[str, NDArray[Any]] = {
                "actions": episode.actions[:, seat],
                "rewards": episode.rewards[:, seat],
                "terminations": terminated,
                "truncations": own["truncated"].to_numpy(bool) | (last & ~terminated),
                "is_first": np.arange(episode.ticks) == 0,
                "is_last": last,
                "is_human": episode.is_human[:, seat],
                "episodes": np.full(episode.ticks, number),
            }
            if observation != "none":
                seen = _observe(episode, seat, observation, scale)
                columns |= {"observations": seen[:-1], "next_observations": seen[1:]}
            chosen = columns["is_human"] if human_only else slice(None)
            for name, values in columns.items():
                parts.setdefault(name, []).append(values[chosen])
        if not parts:
            raise ValueError("there is no step: none of these episodes was played")
        shapes = {values.shape[1:] for values in parts.get("observations", [])}
        if len(shapes) > 1:
            raise ValueError(
                f"observations have the shapes {sorted(shapes)}, because the episodes have different parameters; "
                "choose those with the same ones: episodes=[e.id for e in dataset if e.params == ...]"
            )
        return {name: np.concatenate(values) for name, values in parts.items()}


def _tell_missing(observation: str, episode: Episode, seat: int, there: int) -> str:
    """The reason why there are not the observations of every state."""
    start = f"episode {episode.id}: {there} of {episode.ticks + 1} states of seat {seat} are there"
    if all(row["seat"] != seat for row in episode._seats):
        return f"{start}: its person withdrew"
    if observation == "pixels":
        return (
            f"{start}: where an environment does not repeat itself, there are the pictures that a person's page was shown, "
            "and none while an AI partner plays"
        )
    return (
        f"{start}: the environment does not repeat itself, and the log does not have every observation; "
        "with `record_observations: true` in the stage, later episodes keep them"
    )


def _observe(episode: Episode, seat: int, observation: str, scale: int) -> NDArray[Any]:
    """The observations of a seat in every state, of the kind that is named."""
    if observation == "pixels":
        return episode.pixels(seat, scale)
    if observation == "features":
        return episode.observations(seat)
    grids = list(episode.grids(seat).values())
    if len(grids) != 1:
        raise ValueError(
            f"observation: {episode.env} with the parameters of episode {episode.id} observes {len(grids)} grids; "
            'choose "features", "pixels", or one of `episode.grids(seat)`'
        )
    return grids[0]


def _cache(cache: str | os.PathLike[str] | None) -> Path:
    """The folder of what was exported and unpacked."""
    if cache is not None:
        return Path(cache)
    root = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(root) / "coplay" / "exports"


def _unpack(archive: Path, cache: Path) -> Path:
    """Unpacks an archive that `coplay crate` wrote into the cache, unless it is there."""
    stat = archive.stat()
    mark = repr((str(archive.resolve()), stat.st_size, stat.st_mtime_ns))
    folder = cache / hashlib.sha256(mark.encode()).hexdigest()[:16]
    if (folder / CRATE).is_file():
        return folder
    part = folder.with_suffix(".part")
    shutil.rmtree(part, ignore_errors=True)
    with zipfile.ZipFile(archive) as packed:
        if CRATE not in packed.namelist():
            raise ValueError(f"{archive} is no archive that `coplay crate` wrote: it has no {CRATE}")
        packed.extractall(part)
    part.rename(folder)
    return folder


def _read_tables(folder: Path) -> dict[str, Table]:
    """The tables of an export, by their names."""
    facts = json.loads((folder / DICTIONARY).read_text(encoding="utf-8"))
    if facts["format"] != "parquet":
        raise ValueError(f"{folder} has tables as {facts['format']}; write them with `coplay export --format parquet`")
    tables: dict[str, Table] = {}
    for table in facts["tables"]:
        name = table["name"]
        columns = {column["name"]: column["description"] for column in table["columns"]}
        tables[name] = Table(name, table["about"], table["rows"], columns, folder / f"{name}.parquet")
    return tables


def _export(data: Path, options: Sequence[str], cache: Path) -> Path:
    """Exports a data folder into the cache with these options, unless it is there as it is now."""
    program = find_program(
        f"{data} is a data folder, which it exports (a folder that `coplay export --format parquet` wrote needs no program)"
    )
    whole = data.resolve()
    # Reading makes empty files beside the database, which say nothing.
    databases = [whole / "coplay.sqlite", whole / "coplay.sqlite-wal"]
    files = sorted([*databases, *whole.glob("episodes/*.coplay")])
    stats = {file.name: file.stat() for file in files if file.exists()}
    marks = [(name, of.st_size, of.st_mtime_ns) for name, of in stats.items() if of.st_size]
    name = hashlib.sha256(repr((str(whole), options)).encode()).hexdigest()[:16]
    state = hashlib.sha256(repr(marks).encode()).hexdigest()[:16]
    folder = cache / f"{name}-{state}"
    if (folder / DICTIONARY).is_file():
        _warn_of_left_out(data, folder)
        return folder
    for earlier in cache.glob(f"{name}-*"):
        shutil.rmtree(earlier, ignore_errors=True)
    cache.mkdir(parents=True, exist_ok=True)
    command = [program, "export", "--data", str(whole), "--format", "parquet", "--out", str(folder)]
    done = subprocess.run([*command, *options], capture_output=True, text=True, check=False)
    if not (folder / DICTIONARY).is_file():
        raise RuntimeError(f"`coplay export` failed: {done.stderr.strip() or done.stdout.strip()}")
    left_out = [line for line in done.stdout.splitlines() if line.startswith("left out: ")]
    if left_out:
        (folder / LEFT_OUT).write_text("\n".join(left_out), encoding="utf-8")
    _warn_of_left_out(data, folder)
    return folder


def _warn_of_left_out(data: Path, folder: Path) -> None:
    """Tells which episodes an export in the cache does not have, and why."""
    file = folder / LEFT_OUT
    if file.is_file():
        reasons = file.read_text(encoding="utf-8")
        again = f"once the reason is gone, delete {folder}, and they are exported again"
        warnings.warn(f"the export of {data} does not have everything; {again}:\n{reasons}", stacklevel=4)
