"""Puts the program and its files into a wheel that holds the Python package.

python wheel.py IN.whl TREE BOM OUT_FOLDER

IN.whl      the wheel as maturin builds it
TREE        a folder with bin/ and share/, as they are to stand below the prefix of an installation
BOM         the bill of materials of the release, in place of maturin's, which knows the native module alone
OUT_FOLDER  where the new wheel goes, under the same name

Equal input gives equal bytes: entries are sorted, and their time is SOURCE_DATE_EPOCH.
"""

import base64
import hashlib
import os
import sys
import time
import zipfile
from pathlib import Path


def hash_line(name: str, content: bytes) -> str:
    """Return the line of RECORD for a file of the wheel."""
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(content)}\n"


def read_entries(wheel: Path, tree: Path, bom: Path) -> dict[str, tuple[bytes, int]]:
    """Return content and file mode of every entry of the new wheel but RECORD, by name."""
    entries: dict[str, tuple[bytes, int]] = {}
    with zipfile.ZipFile(wheel) as old:
        for entry in old.infolist():
            is_replaced = entry.filename.endswith(".dist-info/RECORD") or "/sboms/" in entry.filename
            if not entry.is_dir() and not is_replaced:
                entries[entry.filename] = (old.read(entry), 0o644)
    stem = "-".join(wheel.name.split("-")[:2])
    for file in sorted(path for path in tree.rglob("*") if path.is_file()):
        below = file.relative_to(tree)
        scripts = below.parts[0] == "bin"
        scheme, below = ("scripts", below.relative_to("bin")) if scripts else ("data", below)
        name = f"{stem}.data/{scheme}/{below.as_posix()}"
        entries[name] = (file.read_bytes(), 0o755 if scripts else 0o644)
    entries[f"{stem}.dist-info/sboms/{bom.name}"] = (bom.read_bytes(), 0o644)
    return entries


def write_wheel(out: Path, stem: str, entries: dict[str, tuple[bytes, int]]) -> None:
    """Write the wheel with a fresh RECORD, which stands last, as the format asks."""
    record = f"{stem}.dist-info/RECORD"
    lines = "".join(hash_line(name, content) for name, (content, _) in sorted(entries.items()))
    ordered = [*sorted(entries.items()), (record, (f"{lines}{record},,\n".encode(), 0o644))]
    # The format of archives begins in 1980.
    moment = time.gmtime(max(int(os.environ["SOURCE_DATE_EPOCH"]), 315_532_800))[:6]
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as new:
        for name, (content, mode) in ordered:
            entry = zipfile.ZipInfo(name, moment)
            entry.external_attr = (0o100000 | mode) << 16
            entry.create_system = 3
            entry.compress_type = zipfile.ZIP_DEFLATED
            new.writestr(entry, content)


def main() -> None:
    """Run the command that the top of this file describes."""
    wheel, tree, bom, folder = (Path(word) for word in sys.argv[1:])
    entries = read_entries(wheel, tree, bom)
    folder.mkdir(parents=True, exist_ok=True)
    write_wheel(folder / wheel.name, "-".join(wheel.name.split("-")[:2]), entries)


main()
