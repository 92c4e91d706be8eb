"""Opening of a bundle: a folder or an archive whose claims are not trusted.

Members of archives are unpacked under names of ours, within a bound that the disk sets; paths in them are
only compared. Links are refused. Nothing is used before all digests are those of SHA256SUMS.

They are not in the database, as they may be larger than all of it; sending others, confirming or a day's wait
removes them.
"""

import hashlib
import json
import os
import re
import secrets
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path

from leaderboard.bundles.ops.describing import HEAD, SIGNATURE, SUMS
from leaderboard.errors import Invalid, NoRoom, NotFound, Problem
from leaderboard.trec.read import bundles as archives
from leaderboard.trec.read.archives import Limits
from leaderboard.trec.read.bundles import is_hidden
from leaderboard.trec.read.lines import shown

MOST_FILES = 100_000
LARGEST_BYTES = 2**40
KEPT_FREE = 2**28
"""Bytes that unpacking leaves free on the disk."""
NAMED = 10
MIRROR, IN_MIRROR = "mirror.json", "task.zip"
"""The file that marks a mirror's folder, and the file of each task in it that can be downloaded."""

_SUM = re.compile(r"([0-9a-f]{64}) [ *](\S.*)")

Progress = Callable[[str], object]


@dataclass(frozen=True, slots=True)
class BundleFiles:
    """The files of a bundle, or of any folder: path within it -> where it is; left out: path -> why."""

    paths: dict[str, Path]
    left_out: dict[str, str]

    @property
    def is_bundle(self) -> bool:
        """Whether an export wrote it."""
        return HEAD in self.paths and SUMS in self.paths

    def file(self, path: object) -> Path:
        """A member that a record names; raises Invalid where it is missing."""
        if not isinstance(path, str) or path not in self.paths:
            raise Invalid(
                f"The file {shown(str(path))} is missing from the bundle. Download the whole bundle again."
            )
        return self.paths[path]


def in_mirror(path: Path) -> Path:
    """The export of the one task of a mirror; any other path as it is.

    Raises Invalid where the mirror has several, or none because part of its task is hidden.
    """
    if not (path / MIRROR).is_file():
        return path
    exports = sorted(path.glob(f"tasks/*/{IN_MIRROR}"))
    if len(exports) == 1:
        return exports[0]
    if not exports:
        raise Invalid(
            f"{path} is a mirror without a downloadable task: part of its data was not public when it was "
            "created. Ask the organisers for an export."
        )
    listed = ", ".join(map(str, exports[:NAMED])) + (" and others" if len(exports) > NAMED else "")
    raise Invalid(f"{path} is a mirror of {len(exports):,} tasks. Name one of them: {listed}.")


@dataclass(frozen=True, slots=True)
class Bounds:
    """Of an archive: bytes of all that is in it, None as the disk has room; and how many files."""

    largest_bytes: int | None = None
    most_files: int = MOST_FILES


OPERATORS = Bounds()
"""No bounds: operators import by a command on their own machine."""


@contextmanager
def opened(path: Path, bounds: Bounds = OPERATORS) -> Iterator[BundleFiles]:
    """The files of a folder, a zip or a tar; archives are unpacked among the temporary files.

    A folder that holds all the others is skipped. Raises Invalid for anything else, TooLarge beyond the
    bounds.
    """
    if path.is_dir():
        yield rooted(_walked(path))
        return
    with tempfile.TemporaryDirectory(prefix="bundle-") as folder:
        yield rooted(_unpacked(path, Path(folder), bounds))


def is_archive(path: Path) -> bool:
    """Whether a file is a zip or tar, by its bytes."""
    return bool(archives.kind_of(path, Limits()))


def require_whole(files: BundleFiles, progress: Progress = lambda _: None) -> None:
    """Raise Invalid unless the files are those of SHA256SUMS, no more, no less, and each has its digest."""
    for rule, faulty in groupby(faults(files, progress), key=itemgetter(1)):
        paths = [path for path, _ in faulty]
        remedy = "Nothing was stored. Download the bundle again."
        problems = [Problem(rule, remedy, field="file", value=shown(path)) for path in paths[:NAMED]]
        more = f" (and {len(paths) - 1:,} more)" if len(paths) > 1 else ""
        raise Invalid(
            f"The bundle is incomplete or damaged: {shown(paths[0])}{more} {rule} {remedy}", problems
        )


def faults(files: BundleFiles, progress: Progress = lambda _: None) -> Iterator[tuple[str, str]]:
    """Each file that is not as SHA256SUMS says, with the rule it breaks; raises Invalid without a valid one.

    The signature covers that list, so it is not on it.
    """
    return digest_faults(files, sums(files.file(SUMS)), progress)


def digest_faults(
    files: BundleFiles, expected: Mapping[str, str], progress: Progress
) -> Iterator[tuple[str, str]]:
    """Each file that is missing, not expected, or has another digest than the expected one."""
    there = files.paths.keys() - {SUMS, SIGNATURE}
    for path in sorted(expected.keys() - there):
        yield path, "is listed in SHA256SUMS but missing."
    for path in sorted((there | files.left_out.keys()) - expected.keys()):
        yield path, "is not listed in SHA256SUMS."
    for path in sorted(expected.keys() & there):
        progress(path)
        with files.paths[path].open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != expected[path]:
                yield path, "does not match its checksum in SHA256SUMS: it was changed or damaged."


def sums(path: Path) -> dict[str, str]:
    """The digests of a list, by path; raises Invalid for a line that is not one of `sha256sum`."""
    digests: dict[str, str] = {}
    with path.open(encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, start=1):
            parts = _SUM.fullmatch(line.rstrip("\n"))
            if parts is None or parts[2] in digests:
                rule = "Each line must be a SHA-256, two blanks and a path; each path occurs once."
                problem = Problem(rule, "Download the bundle again.", number, "", shown(line.strip()))
                raise Invalid(f"{SUMS} is not valid: {problem}", [problem])
            digests[parts[2]] = parts[1]
    return digests


def _walked(folder: Path) -> BundleFiles:
    paths: dict[str, Path] = {}
    left_out: dict[str, str] = {}
    for place, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            path = Path(place) / name
            within = path.relative_to(folder).as_posix()
            if archives.is_hidden(within):
                continue
            if path.is_symlink() or not path.is_file():
                left_out[within] = "a link or a device, not a file"
            else:
                paths[within] = path
            if len(paths) + len(left_out) > MOST_FILES:
                raise Invalid(f"The folder has more than {MOST_FILES:,} files.")
    return BundleFiles(paths, left_out)


def _unpacked(path: Path, folder: Path, bounds: Bounds) -> BundleFiles:
    room = shutil.disk_usage(folder).free - KEPT_FREE
    if room <= 0:
        raise NoRoom("The disk is nearly full. Free space for the unpacked bundle.")
    limits = Limits(plain_bytes=min(bounds.largest_bytes or LARGEST_BYTES, room))
    kind = archives.kind_of(path, limits)
    if not kind:
        raise Invalid(f"{path.name} is not a folder, a zip file or a tar archive.")
    paths: dict[str, Path] = {}
    left_out: dict[str, str] = {}
    # A run may be an archive: as such it is kept, and read under the limits of a file that was sent.
    for member in archives.unbundled(path, kind, folder, limits, bounds.most_files, may_nest=True):
        if member.name in paths or member.name in left_out:
            raise Invalid(f"The archive contains {shown(member.name)} twice. Create it again.")
        if member.path is not None:
            paths[member.name] = member.path
        else:
            left_out[member.name] = str(member.problem)
    return BundleFiles(paths, left_out)


def rooted(files: BundleFiles) -> BundleFiles:
    """The same without a folder that holds all of them."""
    while True:
        names = [*files.paths, *files.left_out]
        tops = {name.partition("/")[0] for name in names}
        if len(tops) != 1 or not all("/" in name for name in names):
            return files
        cut = len(next(iter(tops))) + 1
        files = BundleFiles(
            {name[cut:]: path for name, path in files.paths.items()},
            {name[cut:]: why for name, why in files.left_out.items()},
        )


FOLDER, NAMES = "imports", "names.json"
KEPT_S = 24 * 3600
TOKEN_BYTES = 16


def keep_bundle(data: Path, account_id: int, files: Sequence[tuple[str, Path]]) -> str:
    """Keep copies of some files, each with the path it had in its folder; the token that finds them again.

    What the account had kept is dropped, and so is what others left for more than a day.
    """
    sweep(data)
    drop_bundle(data, account_id)
    folder, token = _folder(data, account_id), secrets.token_hex(TOKEN_BYTES)
    folder.mkdir(mode=0o700, parents=True)
    for number, (_, path) in enumerate(files):
        shutil.copyfile(path, folder / str(number))
    facts = {"token": token, "names": [name for name, _ in files]}
    (folder / NAMES).write_text(json.dumps(facts), encoding="utf-8")
    return token


def kept_bundle(data: Path, account_id: int | None, token: str, bounds: Bounds, folder: Path) -> BundleFiles:
    """The files that an account keeps, as `files_of` gives them; raises NotFound for none."""
    kept = _folder(data, account_id or 0)
    try:
        facts = json.loads((kept / NAMES).read_text(encoding="utf-8"))
    except FileNotFoundError:
        facts = {"token": ""}
    if not secrets.compare_digest(facts["token"].encode(), token.encode()) or not token:
        raise NotFound("These files have expired. Choose them again.")
    paths = {name: kept / str(number) for number, name in enumerate(facts["names"])}
    return files_of(paths, bounds, folder)


def files_of(paths: dict[str, Path], bounds: Bounds, folder: Path) -> BundleFiles:
    """Files that were sent, by their paths in their folder, or those of the one archive among them.

    folder: where an archive is unpacked.
    """
    visible = {name: path for name, path in paths.items() if not is_hidden(name)}
    if len(visible) == 1 and is_archive(path := next(iter(visible.values()))):
        return rooted(_unpacked(path, Path(tempfile.mkdtemp(dir=folder)), bounds))
    return rooted(BundleFiles(visible, {}))


def drop_bundle(data: Path, account_id: int) -> None:
    """Remove what an account keeps."""
    shutil.rmtree(_folder(data, account_id), ignore_errors=True)


def sweep(data: Path) -> None:
    """Remove files kept for more than a day."""
    for folder in (data / FOLDER).glob("*"):
        if folder.stat().st_mtime < time.time() - KEPT_S:
            shutil.rmtree(folder, ignore_errors=True)


def _folder(data: Path, account_id: int) -> Path:
    return data / FOLDER / str(account_id)
