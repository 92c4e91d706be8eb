"""Bundles written and read back, and what is compared of them."""

import hashlib
import json
import shutil
import time
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace

import pytest

from leaderboard.bundles import page as bundles
from leaderboard.bundles.ops import describing, imports, opening
from leaderboard.bundles.ops.checking import ImportRequest
from leaderboard.bundles.ops.imports import ImportedTask
from leaderboard.bundles.ops.release import PseudonymMap
from leaderboard.core.policy import OPERATOR
from leaderboard.db.engine import Database
from tests.make import build

OF_THE_MOMENT = frozenset({"README.md", "bundle.json", "ro-crate-metadata.json", "SHA256SUMS"})
"""Files that say when the bundle was written, or digests of those."""


def exported(
    database: Database, path: Path, slug: str = "t", *, is_release: bool = False
) -> PseudonymMap | None:
    """Write a task to a path."""
    return bundles.export(database, OPERATOR, slug, describing.writer(path), is_release=is_release)


def imported(database: Database, path: Path, request: ImportRequest | None = None) -> ImportedTask:
    """Make a task of a bundle as the command does, and score its runs."""
    with opening.opened(path) as files:
        opening.require_whole(files)
        with database.write() as session:
            made = imports.bring_in(session, OPERATOR, files, request or ImportRequest())
    build.drain(database)
    return made


def new_site(template: Path, folder: Path) -> Database:
    """An empty site of its own in a new folder."""
    folder.mkdir()
    return Database(f"sqlite:///{shutil.copyfile(template, folder / 'leaderboard.sqlite3')}")


def contents(folder: Path) -> dict[str, bytes]:
    """Path -> bytes of a bundle's files, without those that differ by the moment."""
    found = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    return {name: path.read_bytes() for name, path in found.items() if name not in OF_THE_MOMENT}


def seal(folder: Path) -> None:
    """Write the digests anew, as somebody would who changes a bundle on purpose."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != describing.SUMS]
    lines = [
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(folder).as_posix()}\n"
        for path in files
    ]
    (folder / describing.SUMS).write_text("".join(lines))


def rewrite(folder: Path, table: str, **fields: object) -> None:
    """Change the first record of a table, and seal the bundle."""
    path = folder / "records" / f"{table}.jsonl"
    first, *others = path.read_text().splitlines()
    path.write_text("\n".join([json.dumps({**json.loads(first), **fields}), *others]) + "\n")
    seal(folder)


def rows(folder: Path, table: str) -> list[dict[str, object]]:
    """The records of a table of a bundle."""
    path = folder / "records" / f"{table}.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def public(database: Database, path: Path, slug: str = "t") -> None:
    """Write what visitors read of a task to a path."""
    bundles.export_public(database, slug, describing.writer(path))


def export_at(monkeypatch: pytest.MonkeyPatch, moment: datetime) -> None:
    """Let what is exported be of one moment in two worlds."""
    monkeypatch.setattr(describing, "time", SimpleNamespace(time=moment.timestamp, gmtime=time.gmtime))
    monkeypatch.setattr(bundles, "datetime", SimpleNamespace(now=lambda _: moment))
