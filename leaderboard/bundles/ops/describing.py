"""Descriptions inside a bundle: a README for people and RO-Crate metadata for programs.

RO-Crate 1.1, https://www.researchobject.org/ro-crate/specification/1.1/
"""

import hashlib
import json
import os
import shutil
import tarfile
import time
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import IO, Protocol

from leaderboard import __version__
from leaderboard.bundles.ops.records import TABLES
from leaderboard.errors import Conflict
from leaderboard.tasks.ops.citing import TaskCitation, spdx

SUMS, SIGNATURE = "SHA256SUMS", "SIGNATURE.json"
SPOOL_BYTES = 2**20
"""Maximum bytes of a member kept in memory: tar needs its size before its first byte."""
PACKED = (".gz", ".bz2", ".xz", ".zst", ".png", ".jpg")
"""Endings of what does not get smaller."""
TAR_ENDINGS = (".tar.gz", ".tgz")
NO_TIME = 315_532_800.0
"""The earliest time a zip can store, in 1980: for bundles that do not record when they were made."""

Pieces = Iterable[bytes]
Progress = Callable[[str, int], object]
"""Called with path and size in bytes of each written member."""


class _Target(Protocol):
    """The target of members."""

    def put(self, path: str, pieces: Pieces) -> None:
        """Write a member."""
        ...


class BundleWriter:
    """Writes members one after the other, and at last the list of their digests."""

    def __init__(self, target: _Target, progress: Progress = lambda *_: None) -> None:
        self._target, self._progress = target, progress
        self.sums: dict[str, str] = {}
        """Path -> SHA-256 of the written bytes."""
        self.sizes: dict[str, int] = {}
        self.sign: Callable[[str], bytes] | None = None
        """What signs the digest of the list of digests; None leaves the bundle unsigned."""

    def add(self, path: str, pieces: Pieces) -> None:
        """Write a member; its pieces are never all in memory."""
        self._target.put(path, self._counted(path, pieces))
        self._progress(path, self.sizes[path])

    def text(self, path: str, text: str) -> None:
        """Write a member that is a text."""
        self.add(path, [text.encode()])

    def finish(self) -> None:
        """Write the digests, as `sha256sum -c` reads them, and the site's signature under them."""
        lines = [f"{self.sums[path]}  {path}\n" for path in sorted(self.sums)]
        body = "".join(lines).encode()
        self._target.put(SUMS, [body])
        if self.sign is not None:
            self._target.put(SIGNATURE, [self.sign(hashlib.sha256(body).hexdigest())])

    def _counted(self, path: str, pieces: Pieces) -> Iterator[bytes]:
        digest, size = hashlib.sha256(), 0
        for piece in pieces:
            digest.update(piece)
            size += len(piece)
            yield piece
        self.sums[path], self.sizes[path] = digest.hexdigest(), size


@contextmanager
def writer(path: Path, progress: Progress = lambda *_: None) -> Iterator[BundleWriter]:
    """A writer of a bundle: .zip, .tar.gz or .tgz by the suffix, else a folder.

    Files are readable by their owner only. Nothing is left of it where anything fails; a file of that name is
    replaced. Raises Conflict where the folder holds anything already.
    """
    part = path.with_name(f".{path.name}.part")
    _remove(part)
    try:
        if is_folder(path):
            if path.exists() and (not path.is_dir() or any(path.iterdir())):
                raise Conflict(f"{path} already exists. Name a new or empty folder.")
            part.mkdir(mode=0o700)
            with _finished(BundleWriter(_Folder(part), progress)) as bundle_writer:
                yield bundle_writer
            if path.exists():
                path.rmdir()
        else:
            with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                with archived(
                    file, is_zip=path.name.lower().endswith(".zip"), progress=progress
                ) as bundle_writer:
                    yield bundle_writer
                file.flush()
                os.fsync(file.fileno())
        os.replace(part, path)
    finally:
        _remove(part)


@contextmanager
def archived(
    file: IO[bytes], *, is_zip: bool, progress: Progress = lambda *_: None, at: float | None = None
) -> Iterator[BundleWriter]:
    """Writer of a bundle as an archive into a file that need not be seekable.

    at: when its members were made, in seconds since 1970; None: now.
    """
    at = time.time() if at is None else at
    if is_zip:
        with (
            zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive,
            _finished(BundleWriter(_Zip(archive, at), progress)) as bundle_writer,
        ):
            yield bundle_writer
        return
    with (
        tarfile.open(fileobj=file, mode="w|gz", format=tarfile.GNU_FORMAT) as tar,
        _finished(BundleWriter(_Tar(tar, at), progress)) as bundle_writer,
    ):
        yield bundle_writer


def is_folder(path: Path) -> bool:
    """Whether a bundle of that name is a folder.

    >>> is_folder(Path("task.zip")), is_folder(Path("task.tar.gz")), is_folder(Path("task"))
    (False, False, True)
    """
    return not path.name.lower().endswith((".zip", *TAR_ENDINGS))


@contextmanager
def _finished(target: BundleWriter) -> Iterator[BundleWriter]:
    yield target
    target.finish()


class _Folder:
    """Members as files of a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def put(self, path: str, pieces: Pieces) -> None:
        """Write a file."""
        target = self._folder / path
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with os.fdopen(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            for piece in pieces:
                file.write(piece)


class _Zip:
    """Members of a zip; what is compressed already is stored unchanged."""

    def __init__(self, archive: zipfile.ZipFile, at: float) -> None:
        self._archive = archive
        self._at = time.gmtime(at)[:6]

    def put(self, path: str, pieces: Pieces) -> None:
        """Write a member."""
        info = zipfile.ZipInfo(path, self._at)
        info.compress_type = zipfile.ZIP_STORED if path.endswith(PACKED) else zipfile.ZIP_DEFLATED
        info.external_attr = 0o600 << 16
        with self._archive.open(info, "w", force_zip64=True) as file:
            for piece in pieces:
                file.write(piece)


class _Tar:
    """Members of a tar."""

    def __init__(self, archive: tarfile.TarFile, at: float) -> None:
        self._archive = archive
        self._at = int(at)

    def put(self, path: str, pieces: Pieces) -> None:
        """Write a member."""
        with SpooledTemporaryFile(max_size=SPOOL_BYTES) as file:
            for piece in pieces:
                file.write(piece)
            info = tarfile.TarInfo(path)
            info.size, info.mtime, info.mode = file.tell(), self._at, 0o600
            file.seek(0)
            self._archive.addfile(info, file)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


CRATE, HEAD, README = "ro-crate-metadata.json", "bundle.json", "README.md"
FORM, VERSION = "leaderboard task bundle", 1

FILES = {
    README: "This file.",
    HEAD: "Program and date of the export, for the import.",
    SUMS: f"SHA-256 checksums of all other files; verify them with `sha256sum -c {SUMS}`.",
    SIGNATURE: f"The site's signature under {SUMS}; `leaderboard verify` checks it and all numbers.",
    CRATE: "Machine-readable description (RO-Crate 1.1).",
    "CITATION.cff": "How to cite the task (Citation File Format 1.2.0).",
    "citation.bib": "The same citation as BibTeX.",
    "datacite.json": "The same citation as DataCite metadata, to register a DOI.",
    "topics.tsv": "Topic id and title, separated by a tab.",
    "qrels/": "Judgments of every revision as TREC qrels: topic, subtopic or 0, docno, grade. Files are "
    "named LINE-NAME-REVISION; preferences are JSON lines; distractors one docno per line; documents "
    "left out one topic and docno per line. Nuggets and labels of answers, and a reference of judges with "
    "its values by run and topic, are one JSON object, with runs by ranking_sha256.",
    "runs/": "Run files: topic, Q0, docno, rank, score, tag; answers as JSON lines; judges as board files "
    "or labels. Compressed if they were submitted compressed.",
    "judges/": "For judges who submitted labels: the labels of answers that count, and the resulting board "
    "of the runs of the reference, as JSON.",
    "pools/": "The documents of each pool in judging order, as JSON lines: priority, stratum, probability.",
    "pictures/": "The task's logo and picture.",
    "snapshots/": "Snapshots of the leaderboard, as JSON; run_id is the id of a run in the bundle.",
    "scores/board": "The leaderboard of each phase: ranks, scores and runs that may be the best, also as a "
    "table.",
    "scores/topics.csv": "The score of each run on each topic by each measure, at full precision.",
    **{table.path: table.what for table in TABLES},
}
"""Content of each file or folder."""
LEFT_OUT = (
    "accounts, passwords, mail addresses, tokens, links and the audit log",
    "the entry code for teams, and webhooks",
    "rejected files, files that were not yet checked, and drafts of judgments",
    "query logs (preferences derived from them are among the judgments)",
    "the texts of the collection's documents",
    "suites that include the task, and links to replicated runs of other tasks",
)
"""Never part of a bundle."""
UNTOLD = (
    "data visible to organisers only: file reports, submission settings and entries",
    "labels, pools, news, snapshots",
    "withdrawn runs, and files of runs whose teams have pseudonyms (their rankings are included)",
    "accounts, and the texts of the collection's documents",
)
"""Not part of a public bundle."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleHead:
    """Description of a whole bundle."""

    citation: TaskCitation
    made_at: str
    """'' where it is not stated, so that the same task gives the same bytes."""
    is_release: bool
    is_public: bool = False
    """Whether it holds only what every visitor may read."""
    is_signed: bool = False

    def text(self) -> str:
        """The head as the program reads it back."""
        facts = {
            "form": FORM,
            "version": VERSION,
            "program": __version__,
            "made_at": self.made_at or None,
            "slug": self.citation.slug,
            "pseudonyms": self.is_release,
        }
        return json.dumps(facts, indent=2) + "\n"


def readme(head: BundleHead, paths: Iterable[str]) -> str:
    """The README: each file's contents, references between files, missing data, how to read it back."""
    of = head.citation
    there = list(paths)
    files = [f"- `{path}`: {what}" for path, what in FILES.items() if _is_there(path, there, head)]
    named = (
        "Teams, runs and people have pseudonyms; the map to their names is stored separately. Details that "
        "teams gave about themselves and their runs are omitted, as are pictures and snapshots. The tag of "
        "each run is its name."
        if head.is_release
        else "Run files are byte for byte as submitted. Assessors are identified by number."
    )
    written = f", exported {head.made_at}" if head.made_at else "; it contains the public data only"
    return "\n".join(
        (
            f"# {of.title}",
            "",
            *((of.description.strip(), "") if of.description.strip() else ()),
            f"An information-retrieval shared task as plain files{written}.",
            *((f"Organised by {of.organisers}.",) if of.organisers else ()),
            f"Licence: {of.licence or 'not stated; ask the organisers'}.",
            "",
            "## Files",
            "",
            *files,
            "",
            "Files in `records/` have one JSON object per line. Each object has an `id`; fields that end in "
            "`_id` refer to the `id` of an object in another file. Dates are UTC.",
            named,
            "",
            "## Not included",
            "",
            *(f"- {what}" for what in (UNTOLD if head.is_public else LEFT_OUT)),
            "",
            "## Importing",
            "",
            "`leaderboard import` with this folder or archive recreates the task: it verifies all "
            "checksums, then scores the runs again.",
            "",
        )
    )


def crate(head: BundleHead, sums: Mapping[str, str], sizes: Mapping[str, int]) -> str:
    """The RO-Crate metadata; sums and sizes are those of the files written so far."""
    of = head.citation
    parts = [
        {
            "@id": path,
            "@type": "File",
            "name": path,
            "contentSize": str(sizes[path]),
            "sha256": sums[path],
            "description": next((what for start, what in FILES.items() if path.startswith(start)), path),
        }
        for path in sorted(sums)
    ]
    licence = spdx(of.licence)
    root = {
        "@id": "./",
        "@type": "Dataset",
        "name": of.title,
        "description": of.description or f"The shared task {of.title} as plain files.",
        "datePublished": f"{of.at:%Y-%m-%d}",
        "license": {"@id": f"https://spdx.org/licenses/{licence}"} if licence else of.licence or "not stated",
        "creator": {"@id": "#organisers"},
        "hasPart": [{"@id": part["@id"]} for part in parts],
        **({"url": of.address} if of.address else {}),
    }
    about = {
        "@id": CRATE,
        "@type": "CreativeWork",
        "conformsTo": {"@id": "https://w3id.org/ro/crate/1.1"},
        "about": {"@id": "./"},
    }
    by = {"@id": "#organisers", "@type": "Organization", "name": of.creator}
    graph = {"@context": "https://w3id.org/ro/crate/1.1/context", "@graph": [about, root, by, *parts]}
    return json.dumps(graph, indent=1, ensure_ascii=False) + "\n"


def _is_there(path: str, there: list[str], head: BundleHead) -> bool:
    always = path in (README, SUMS, CRATE) or (path == SIGNATURE and head.is_signed)
    return always or any(each.startswith(path) for each in there)
