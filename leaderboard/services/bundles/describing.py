"""What a bundle says of itself: a README in plain words, and RO-Crate metadata for programs.

RO-Crate 1.1, https://www.researchobject.org/ro-crate/specification/1.1/
"""

import hashlib
import json
import os
import re
import shutil
import tarfile
import time
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import IO, Protocol

from leaderboard import __version__
from leaderboard.errors import Conflict
from leaderboard.services.bundles.records import TABLES

_SPDX = re.compile(r"[A-Za-z0-9.+-]+")
_CC = re.compile(r"CC[ -](BY(?:-(?:SA|NC|ND|NC-SA|NC-ND))?|0)[ -]?(\d\.\d)?", re.IGNORECASE)
_BIBTEX = str.maketrans({letter: f"\\{letter}" for letter in "&%$#_{}"} | {"\\": r"\textbackslash{}",
                        "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"})  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskCitation:
    """What is said of a task where it is cited; at: when it was published, else made."""

    slug: str
    title: str
    organisers: str
    licence: str
    description: str
    address: str
    at: datetime

    @property
    def creator(self) -> str:
        """Who made it, in the organisers' own words, or that they made it where they give none."""
        return self.organisers or f"The organisers of {self.title}"


def cff(of: TaskCitation) -> str:
    """The citation as CITATION.cff; its strings are those of JSON, which YAML reads as they are.

    https://github.com/citation-file-format/citation-file-format/blob/1.2.0/schema-guide.md
    """
    lines = {
        "cff-version": "1.2.0",
        "message": "If you use this task, please cite it as below.",
        "type": "dataset",
        "title": of.title,
        "date-released": f"{of.at:%Y-%m-%d}",
    }
    if of.address:
        lines["url"] = of.address
    if licence := spdx(of.licence):
        lines["license"] = licence
    written = [f"{key}: {_quoted(value)}" for key, value in lines.items()]
    return "\n".join((*written, "authors:", f"  - name: {_quoted(of.creator)}", ""))


def bibtex(of: TaskCitation) -> str:
    """The citation as an entry of BibTeX."""
    fields = {
        "title": f"{{{_tex(of.title)}}}",
        "author": f"{{{_tex(of.creator)}}}",
        "year": str(of.at.year),
        "howpublished": f"\\url{{{of.address}}}" if of.address else "",
        "note": _tex(f"Licence: {of.licence}") if of.licence else "",
    }
    lines = [f"  {key} = {{{value}}}," for key, value in fields.items() if value]
    return "\n".join((f"@misc{{{of.slug},", *lines, "}", ""))


def datacite(of: TaskCitation) -> str:
    """The citation as DataCite's metadata in JSON, without a DOI: whoever registers it has one.

    https://schema.datacite.org/meta/kernel-4.6/
    """
    facts = {
        "creators": [{"name": of.creator, "nameType": "Organizational"}],
        "titles": [{"title": of.title}],
        "publisher": {"name": of.creator},
        "publicationYear": of.at.year,
        "types": {"resourceTypeGeneral": "Dataset", "resourceType": "Shared task of information retrieval"},
        "dates": [{"date": f"{of.at:%Y-%m-%d}", "dateType": "Issued"}],
        "descriptions": [{"description": of.description, "descriptionType": "Abstract"}]
        if of.description
        else [],
        "rightsList": [{"rights": of.licence}] if of.licence else [],
        "url": of.address or None,
        "schemaVersion": "http://datacite.org/schema/kernel-4",
    }
    return json.dumps(facts, indent=2, ensure_ascii=False) + "\n"


FORMS: Mapping[str, tuple[str, str, Callable[[TaskCitation], str]]] = {
    "cff": ("CITATION.cff", "Citation File Format", cff),
    "bib": ("citation.bib", "BibTeX", bibtex),
    "json": ("datacite.json", "DataCite", datacite),
}
"""Ending of its address -> name of the file, of the form, and what writes it."""


def spdx(licence: str) -> str:
    """The identifier of a licence in SPDX's list where one is clearly meant, else ''.

    >>> spdx("CC BY 4.0"), spdx("CC0"), spdx("Apache-2.0"), spdx("for research only")
    ('CC-BY-4.0', 'CC0-1.0', 'Apache-2.0', '')
    """
    if licence.strip().upper().startswith("CC0"):
        return "CC0-1.0"
    if found := _CC.fullmatch(licence.strip()):
        kind, version = found[1].upper(), found[2]
        if kind == "0":
            return "CC0-1.0"
        return f"CC-{kind}-{version}" if version else ""
    is_one = _SPDX.fullmatch(licence.strip()) and any(letter.isdigit() for letter in licence)
    return licence.strip() if is_one else ""


def _quoted(text: str) -> str:
    return json.dumps(" ".join(text.split()), ensure_ascii=False)


def _tex(text: str) -> str:
    return " ".join(text.split()).translate(_BIBTEX)


SUMS = "SHA256SUMS"
SPOOL_BYTES = 2**20
"""Bytes of a member up to which it is held in memory: a tar wants to know its size before its first byte."""
PACKED = (".gz", ".bz2", ".xz", ".zst", ".png", ".jpg")
"""Endings of what does not get smaller."""
TAR_ENDINGS = (".tar.gz", ".tgz")
NO_TIME = 315_532_800.0
"""The first moment that a zip can say, 1980: for bundles that do not tell when they were made."""

Pieces = Iterable[bytes]
Progress = Callable[[str, int], object]
"""Is told of each member when it is written: its path and bytes."""


class _Target(Protocol):
    """Where members go."""

    def put(self, path: str, pieces: Pieces) -> None:
        """Write a member."""
        ...


class BundleWriter:
    """Writes members one after the other, and at last the list of their digests."""

    def __init__(self, target: _Target, progress: Progress = lambda *_: None) -> None:
        self._target, self._progress = target, progress
        self.sums: dict[str, str] = {}
        """Path -> SHA-256 of what was written."""
        self.sizes: dict[str, int] = {}

    def add(self, path: str, pieces: Pieces) -> None:
        """Write a member; its pieces are never all held at once."""
        self._target.put(path, self._counted(path, pieces))
        self._progress(path, self.sizes[path])

    def text(self, path: str, text: str) -> None:
        """Write a member that is a text."""
        self.add(path, [text.encode()])

    def finish(self) -> None:
        """Write the digests, as `sha256sum -c` reads them."""
        lines = [f"{self.sums[path]}  {path}\n" for path in sorted(self.sums)]
        self._target.put(SUMS, ["".join(lines).encode()])

    def _counted(self, path: str, pieces: Pieces) -> Iterator[bytes]:
        digest, size = hashlib.sha256(), 0
        for piece in pieces:
            digest.update(piece)
            size += len(piece)
            yield piece
        self.sums[path], self.sizes[path] = digest.hexdigest(), size


@contextmanager
def writer(path: Path, progress: Progress = lambda *_: None) -> Iterator[BundleWriter]:
    """What writes a bundle: .zip, .tar.gz or .tgz by the name's end, anything else is a folder.

    Files are readable by their owner only. Nothing is left of it where anything fails; a file of that name is
    replaced. Raises Conflict where the folder holds anything already.
    """
    part = path.with_name(f".{path.name}.part")
    _remove(part)
    try:
        if is_folder(path):
            if path.exists() and (not path.is_dir() or any(path.iterdir())):
                raise Conflict(f"{path} is there already: name a folder that is not, or that is empty.")
            part.mkdir(mode=0o700)
            with _finished(BundleWriter(_Folder(part), progress)) as made:
                yield made
            if path.exists():
                path.rmdir()
        else:
            with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                with archived(file, is_zip=path.name.lower().endswith(".zip"), progress=progress) as made:
                    yield made
                file.flush()
                os.fsync(file.fileno())
        os.replace(part, path)
    finally:
        _remove(part)


@contextmanager
def archived(
    file: IO[bytes], *, is_zip: bool, progress: Progress = lambda *_: None, at: float | None = None
) -> Iterator[BundleWriter]:
    """What writes a bundle as an archive into a file, which need not be able to go back.

    at: when its members were made, in seconds since 1970; None: now.
    """
    at = time.time() if at is None else at
    if is_zip:
        with (
            zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive,
            _finished(BundleWriter(_Zip(archive, at), progress)) as made,
        ):
            yield made
        return
    with (
        tarfile.open(fileobj=file, mode="w|gz", format=tarfile.GNU_FORMAT) as tar,
        _finished(BundleWriter(_Tar(tar, at), progress)) as made,
    ):
        yield made


def is_folder(path: Path) -> bool:
    """Whether a bundle of that name is a folder.

    >>> is_folder(Path("task.zip")), is_folder(Path("task.tar.gz")), is_folder(Path("task"))
    (False, False, True)
    """
    return not path.name.lower().endswith((".zip", *TAR_ENDINGS))


@contextmanager
def _finished(made: BundleWriter) -> Iterator[BundleWriter]:
    yield made
    made.finish()


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
    """Members of a zip; what is packed already is stored as it is."""

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
    README: "This text.",
    HEAD: "Which program wrote the bundle and when, for the program that reads it back.",
    SUMS: f"SHA-256 of every other file; check them with `sha256sum -c {SUMS}`.",
    CRATE: "The same description for programs (RO-Crate 1.1).",
    "CITATION.cff": "How to cite the task (Citation File Format 1.2.0).",
    "citation.bib": "The same as BibTeX.",
    "datacite.json": "The same as DataCite metadata, to register a DOI with.",
    "topics.tsv": "Topic id and title, separated by a tab, as most programs read topics.",
    "qrels/": "Judgments of every revision as TREC qrels: topic, subtopic or 0, docno, grade. Files are "
    "named LINE-NAME-REVISION; preferences are JSON, one a line; distractors one docno a line; of documents "
    "left out topic and docno a line. Nuggets and labels of answers are one JSON object, where a run is its "
    "ranking_sha256; so is a reference that judges are held against, with its values by run and topic.",
    "runs/": "Run files: topic, Q0, docno, rank, score, tag; of answers JSON, one a line; of judges their "
    "boards or labels. Compressed where they came so.",
    "judges/": "Of judges who sent labels: what counts of labels of answers, and the board that labels made "
    "by scoring the runs of the reference, as JSON.",
    "pools/": "The documents of each pool in judging order, as JSON lines: priority, stratum, probability.",
    "pictures/": "The task's logo and picture.",
    "snapshots/": "Boards as they were frozen, as JSON; run_id is the id of a run in the bundle.",
    "scores/board": "The board of each phase: ranks, scores, which runs may be the best; as a table too.",
    "scores/topics.csv": "What each run got on each topic by each measure, at full precision.",
    **{table.path: table.what for table in TABLES},
}
"""What each file or folder holds."""
LEFT_OUT = (
    "accounts, passwords, mail addresses, tokens, links and who did what",
    "the code by which teams enter, and webhooks",
    "rejected files, files that were still being checked, drafts of judgments",
    "query logs (the preferences made of them are among the judgments)",
    "the texts of the collection's documents",
    "suites that the task is a member of, and which runs of other tasks its runs replicate",
)
"""What a bundle never has."""
UNTOLD = (
    "what only organisers see: reports of files, settings of sending, who entered",
    "labels, pools, news, snapshots",
    "withdrawn runs, and files of runs whose teams go by a pseudonym: their rankings are here",
    "accounts, and the texts of the collection's documents",
)
"""What a bundle for everybody has not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleHead:
    """What is said of a bundle as a whole."""

    citation: TaskCitation
    made_at: str
    """'' where it is not told, so that the same task gives the same bytes."""
    is_release: bool
    is_public: bool = False
    """Whether it holds what every visitor reads, and no more."""

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
    """The README: what each file is, how files refer to each other, what is missing, how to read it back."""
    of = head.citation
    there = list(paths)
    files = [f"- `{path}`: {what}" for path, what in FILES.items() if _is_there(path, there)]
    named = (
        "Teams, runs and people go by pseudonyms here; the map that leads back is kept apart. What teams "
        "said of themselves and of their runs is left out, so are pictures and snapshots; each run's tag is "
        "its name."
        if head.is_release
        else "Run files are byte for byte as they were sent. Assessors go by numbers."
    )
    written = (
        f", written {head.made_at}" if head.made_at else "; it holds what every visitor of the site reads"
    )
    return "\n".join(
        (
            f"# {of.title}",
            "",
            *((of.description.strip(), "") if of.description.strip() else ()),
            f"A shared task of information retrieval as plain files{written}.",
            *((f"Organised by {of.organisers}.",) if of.organisers else ()),
            f"Licence: {of.licence or 'not stated; ask the organisers'}.",
            "",
            "## Files",
            "",
            *files,
            "",
            "Files of `records/` have one JSON object a line. Each has an `id` in the bundle; fields that "
            "end in `_id` hold the id of a row of another file. Dates are UTC.",
            named,
            "",
            "## Not in here",
            "",
            *(f"- {what}" for what in (UNTOLD if head.is_public else LEFT_OUT)),
            "",
            "## Back into a site",
            "",
            "`leaderboard import` with this folder or archive makes the task again: every digest is checked "
            "first, then runs are scored anew.",
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


def _is_there(path: str, there: list[str]) -> bool:
    always = path in (README, SUMS, CRATE)
    return always or any(each.startswith(path) for each in there)
