"""The roads of `leaderboard verify`: a bundle, a snapshot, and all that a site or mirror publishes."""

import csv
import hashlib
import json
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path
from typing import Any, Protocol
from urllib.error import HTTPError, URLError
from urllib.parse import quote
from urllib.request import Request, urlopen

from leaderboard import __version__
from leaderboard.bundles.ops import opening
from leaderboard.bundles.ops.describing import HEAD, SIGNATURE, SUMS
from leaderboard.bundles.ops.imports import OtherVersion
from leaderboard.bundles.ops.opening import KEPT_FREE, BundleFiles
from leaderboard.bundles.page import SCORES
from leaderboard.errors import Invalid, LeaderboardError, NoRoom, NotFound
from leaderboard.signatures import ops as signatures
from leaderboard.tasks.ops import drafts
from leaderboard.verify import signed, values
from leaderboard.verify.report import Report
from leaderboard.verify.signed import Trust
from leaderboard.verify.values import Scratch, scratch

TIMEOUT_S, TRIES, LONGEST_PAUSE_S = 120, 6, 60.0
BUSY = (429, 503)
"""Answers after which a site is asked again."""
PIECE = 2**20


class Place(Protocol):
    """Where the public files of a site are, under the paths that they have there."""

    def get(self, path: str) -> Path | None:
        """A file; None where it is not public."""
        ...

    def why(self, path: str) -> str:
        """Why a file is missing, if known."""
        ...

    def address(self, path: str) -> str:
        """Where a reader finds it."""
        ...


@dataclass(frozen=True, slots=True)
class Folder:
    """A mirror on this machine."""

    root: Path

    def get(self, path: str) -> Path | None:
        """A file of the mirror."""
        file = self.root / path
        return file if file.is_file() and not file.is_symlink() else None

    def why(self, path: str) -> str:
        """Nothing more is known."""
        return "It was not public when the mirror was created."

    def address(self, path: str) -> str:
        """Its path."""
        return str(self.root / path)


@dataclass(slots=True)
class Address:
    """A site or mirror on the web; fetched files are kept in a folder."""

    url: str
    folder: Path
    _kept: dict[str, Path | None] = field(default_factory=dict)
    _reasons: dict[str, str] = field(default_factory=dict)

    def get(self, path: str) -> Path | None:
        """A file, requested once; raises Invalid where the site does not answer."""
        if path not in self._kept:
            self._kept[path] = self._fetched(path)
        return self._kept[path]

    def why(self, path: str) -> str:
        """Why the site did not give it."""
        return self._reasons.get(path, "The site does not publish it.")

    def address(self, path: str) -> str:
        """Its address."""
        return f"{self.url}/{quote(path)}"

    def _fetched(self, path: str) -> Path | None:
        target = self.folder / hashlib.sha256(path.encode()).hexdigest()
        asked = Request(
            self.address(path),
            headers={"User-Agent": f"leaderboard-verify/{__version__}", "Accept": "application/json, */*"},
        )
        for tries_left in reversed(range(TRIES)):
            try:
                with urlopen(asked, timeout=TIMEOUT_S) as answer, target.open("wb") as file:
                    while piece := answer.read(PIECE):
                        file.write(piece)
                        if shutil.disk_usage(self.folder).free < KEPT_FREE:
                            raise NoRoom(f"The disk is nearly full, so {path} cannot be fetched.")
                return target
            except HTTPError as error:
                if error.code in BUSY and tries_left:
                    time.sleep(_pause_s(error.headers.get("Retry-After", "")))
                    continue
                if error.code >= 500 or error.code in BUSY:
                    raise Invalid(f"{self.address(path)} answered {error.code}. Try again later.") from error
                self._reasons[path] = _message(error)
                return None
            except (URLError, HTTPException, TimeoutError, ConnectionError) as error:
                why = getattr(error, "reason", None) or error
                raise Invalid(f"{self.url} does not answer: {why}. Check the address.") from error
        return None


def _pause_s(text: str) -> float:
    return min(float(text), LONGEST_PAUSE_S) if text.isdecimal() else 1.0


def _message(error: HTTPError) -> str:
    """What the site says, where it says it as JSON."""
    try:
        facts = json.loads(error.read(PIECE))
        return str(facts.get("detail") or facts.get("message") or facts["title"])
    except (ValueError, LookupError, AttributeError):
        return f"The site answered {error.code}."


KEYS = signatures.ADDRESS.lstrip("/")
ADDRESS = re.compile(r"[0-9a-f]{16,64}")
SNAPSHOT = re.compile(r"(?P<base>https?://.+?)/snapshots/(?P<address>[0-9a-f]{16,64})(?:\.json)?")
TASK = re.compile(r"(?P<base>https?://.+?)/tasks/(?P<slug>[a-z0-9][a-z0-9-]*)/?")
ARCHIVE = re.compile(r"(?P<base>https?://.+?)/(?P<path>[^?#]+\.(?:zip|tar\.gz|tgz))")
BUNDLE = "tasks/{}/task.zip"
AUDIT = (
    "It is not public, because it records who did what. The site's operator checks its chain with "
    "`leaderboard audit verify`."
)
NOT_PUBLISHED = "They are not recomputed, because the files differ from the published ones."
SINCE = "Its runs differ from the public files: some were added or withdrawn since."
PAGES = "They are drawn from the same scores, and are not signed."

Progress = Callable[[str], object]


class NoBundle(Invalid):
    """Files that no export wrote and that cannot be verified."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What to verify: a path or address; keys: those that the reader pinned."""

    source: str
    keys: Trust | None = None


@dataclass(slots=True, eq=False)
class _Work:
    """One running command: what it found so far, and the site that it recomputes on."""

    report: Report
    site: Scratch
    progress: Progress
    brought: dict[str, "_Brought"] = field(default_factory=dict)
    """Task -> its bundle."""


@dataclass(frozen=True, slots=True)
class _Brought:
    """A bundle in the scratch site: its scores as printed, by path."""

    name: str
    is_public: bool
    is_release: bool
    scores: dict[str, bytes]


def verify(asked: Asked, progress: Progress) -> Report:
    """Verify a source; raises Invalid, or OSError, where it cannot be read at all."""
    report = Report(asked.source)
    with scratch(progress) as site, tempfile.TemporaryDirectory(prefix="fetched-") as folder:
        work = _Work(report, site, progress)
        path = Path(asked.source)
        if asked.source.startswith(("http://", "https://")):
            _address(work, asked, Path(folder))
        elif (path / opening.MIRROR).is_file():
            _place(work, Folder(path), asked.keys, None)
        elif path.suffix == ".json" and path.is_file():
            _lone_snapshot(work, path, asked.keys)
        elif path.exists():
            _bundle(work, path, path.name, asked.keys or Trust({}))
            _compare_scores(work)
        else:
            raise Invalid(
                f"{asked.source} is neither a file or folder nor an address with http:// or https://."
            )
    return report


def _address(work: _Work, asked: Asked, folder: Path) -> None:
    source = asked.source.rstrip("/")
    if match := SNAPSHOT.fullmatch(source):
        place = Address(match["base"], folder)
        path = _required(place, f"snapshots/{match['address']}.json")
        _place(work, place, asked.keys, str(_json(path)["task"]), match["address"])
    elif match := ARCHIVE.fullmatch(source):
        root, slash, path_in_site = source.partition("/tasks/")
        place = Address(root if slash else match["base"], folder)
        path = _required(place, f"tasks/{path_in_site}" if slash else match["path"])
        _bundle(work, path, source.rpartition("/")[2], asked.keys or _keys(work, place))
        _compare_scores(work)
    elif match := TASK.fullmatch(source):
        _place(work, Address(match["base"], folder), asked.keys, match["slug"])
    else:
        _place(work, Address(source, folder), asked.keys, None)


def _place(work: _Work, place: Place, keys: Trust | None, only: str | None, snapshot: str = "") -> None:
    """Verify what a site or mirror publishes: of all tasks or one, or of one snapshot."""
    report = work.report
    if place.get(opening.MIRROR) is not None:
        _mirror(work, place)
    by = keys or _keys(work, place)
    slugs = [only] if only else _slugs(place)
    for slug in slugs:
        path = place.get(BUNDLE.format(slug))
        if path is None:
            report.unchecked[f"task {slug}"] = f"Its files are not public. {place.why(BUNDLE.format(slug))}"
        else:
            _bundle(work, path, f"task {slug}", by)
    _compare_scores(work)
    for slug in slugs:
        if not snapshot:
            _board(work, place, slug)
        _frozen(work, place, slug, by, snapshot)
    report.unchecked["the audit log"] = AUDIT
    if not snapshot:
        report.unchecked["other pages: charts, suites, comparisons"] = PAGES


def _slugs(place: Place) -> list[str]:
    listed = place.get("tasks.json")
    if listed is not None:
        return [str(row["task"]) for row in _json(listed)["tasks"]]
    mirror = place.get(opening.MIRROR)
    if mirror is None:
        raise Invalid(
            f"{place.address('')} is not a leaderboard: it has no list of tasks. Check the address."
        )
    only = _json(mirror).get("task")
    names = {path.split("/")[1] for path in opening.sums(_required(place, SUMS)) if path.startswith("tasks/")}
    slugs = [only] if only else sorted(name.removesuffix(".json") for name in names if name.endswith(".json"))
    return [slug for slug in slugs if drafts.is_slug(slug)]


def _keys(work: _Work, place: Place) -> Trust:
    path = place.get(KEYS)
    if path is None:
        return Trust({})
    try:
        return signed.trust(signatures.read_keys(path.read_bytes()))
    except Invalid as error:
        work.report.differs(KEYS, error.message)
        return Trust({})


def _mirror(work: _Work, place: Place) -> None:
    """Compare all files of a folder with the list of digests, and of an address those that are used."""
    expected = opening.sums(_required(place, SUMS))
    if isinstance(place, Folder):
        all_files = (path for path in place.root.rglob("*") if path.is_file())
        there = {path.relative_to(place.root).as_posix(): path for path in all_files}
    else:
        used = [KEYS, opening.MIRROR, *(path for path in expected if _is_data(path))]
        there = {path: is_there for path in used if (is_there := place.get(path)) is not None}
        expected = {path: digest for path, digest in expected.items() if _is_data(path)}
        work.report.unchecked["pages of the mirror"] = "They are not fetched. Verify a copy of the folder."
    faults = list(opening.digest_faults(BundleFiles(there, {}), expected, work.progress))
    for path, rule in faults:
        work.report.differs(path, rule)
    work.report.files += len(expected)
    if not faults:
        work.report.note(f"mirror: {len(expected):,} of {len(expected):,} files have the digests of {SUMS}")


def _is_data(path: str) -> bool:
    is_table = path.startswith("tasks/") and path.count("/") == 1
    is_signed = path.startswith("snapshots/") or "/editions/" in path or path.endswith("/task.zip")
    is_read = is_signed or is_table or path.endswith("/history.json")
    return path in (KEYS, opening.MIRROR) or (is_read and path.endswith((".json", ".zip")))


def _bundle(work: _Work, path: Path, name: str, by: Trust) -> None:
    """Check the files and signature of a bundle; where they are as they were, import it."""
    if path.is_file() and not opening.is_archive(path):
        raise Invalid(f"{name} is neither a zip nor a tar archive.")
    try:
        with opening.opened(path) as files:
            if check_files(work.report, files, name, by, work.progress):
                _bring(work, files, name)
    except NoBundle:
        raise
    except LeaderboardError as error:
        work.report.differs(name, error.message)


def check_files(
    report: Report, files: BundleFiles, name: str, by: Trust, progress: Progress = lambda _: None
) -> bool:
    """Whether the files of a bundle are those of its list, and the list is the signed one."""
    if not files.is_bundle:
        raise NoBundle(f"{name} is not an export: {HEAD} or {SUMS} is missing.")
    before = len(report.differences)
    try:
        for path, rule in opening.faults(files, progress):
            report.differs(f"{name}: {path}", rule)
    except Invalid as error:
        report.differs(f"{name}: {SUMS}", error.message)
    report.files += len(files.paths) - 1
    if len(report.differences) == before:
        count = len(files.paths) - 1 - (SIGNATURE in files.paths)
        report.note(f"{name}: {count:,} of {count:,} files have the digests of {SUMS}")
    signature = signed.Signed("bundle", files.paths[SUMS], files.paths.get(SIGNATURE))
    signed.check(report, f"{name}: {SIGNATURE}", signature, by)
    is_whole = len(report.differences) == before
    if not is_whole:
        report.unchecked[f"scores of {name}"] = NOT_PUBLISHED
    return is_whole


def _bring(work: _Work, files: BundleFiles, name: str) -> None:
    head = _json(files.file(HEAD))
    slug = str(head.get("slug"))
    if slug in work.brought:
        raise Invalid(f"{name} is a second bundle of the task {slug}.")
    # Public data does not record when it was written.
    is_public = head.get("made_at") is None
    try:
        task = work.site.bring(files)
    except OtherVersion as error:
        work.report.unchecked[f"scores of {name}"] = error.message
        return
    if task.unscored:
        work.report.unchecked[f"scores of {task.unscored:,} judges of {name}"] = (
            "Their labels are scored on runs of another task, which the bundle does not have."
        )
    scores = {path: files.paths[path].read_bytes() for path in files.paths if path.startswith(SCORES)}
    work.brought[slug] = _Brought(name, is_public, bool(head.get("pseudonyms")), scores)


def _compare_scores(work: _Work) -> None:
    """Compute all that is queued, and compare the scores of each bundle."""
    work.site.work()
    for slug, bundle in work.brought.items():
        again = work.site.scores(slug, is_public=bundle.is_public)
        for path, body in bundle.scores.items():
            with _reading(work.report, f"{bundle.name}: {path}") as name:
                printed, computed = values.of_bundle(path, body, again.get(path, b""))
                if bundle.is_release:
                    # Names were removed from them as plain text, even where they were words.
                    printed = {key: value for key, value in printed.items() if key[1] != "sentences"}
                _note(work, name, printed, computed)


@contextmanager
def _reading(report: Report, name: str) -> Iterator[str]:
    """Report a file that has the name and is not in the form that a site writes."""
    try:
        yield name
    except (ValueError, LookupError, TypeError, AttributeError, csv.Error) as error:
        report.differs(name, f"is not in the format that a site writes: {error!r}.")


def _note(work: _Work, file: str, printed: values.Values, again: values.Values) -> bool:
    """Count the values of a file, and report those that differ; whether none does."""
    differences = [each for each in values.compared(file, printed, again) if each is not None]
    work.report.values += len(printed)
    work.report.differences += differences
    if printed and not differences:
        work.report.note(f"{file}: {len(printed):,} of {len(printed):,} values equal")
    return not differences


def _board(work: _Work, place: Place, slug: str) -> None:
    """Compare the board that the task's page shows."""
    path = place.get(f"tasks/{slug}.json")
    if path is not None and slug in work.brought:
        with _reading(work.report, f"board of {slug}") as name:
            _on_record(work, name, _json(path), work.site.board(slug))


def _frozen(work: _Work, place: Place, slug: str, by: Trust, only: str) -> None:
    """Check the editions and snapshots of a task, or one snapshot."""
    editions, listed = ([], [only]) if only else _listed(work, place, slug)
    for number in editions:
        start, what = f"tasks/{slug}/editions/{number}", f"edition {number} of {slug}"
        path = place.get(f"{start}.json")
        if path is not None:
            signature = signed.Signed("edition", path, place.get(f"{start}/signature.json"))
            if signed.check(work.report, what, signature, by):
                _recompute(work, what, slug, path)
    for address in listed:
        if _snapshot(work, place, slug, by, address):
            work.report.snapshots.append(place.address(f"snapshots/{address[:16]}"))


def _listed(work: _Work, place: Place, slug: str) -> tuple[list[int], list[str]]:
    """The numbers of a task's editions and the addresses of its snapshots, where public."""
    path = place.get(f"tasks/{slug}/history.json")
    if path is not None:
        with _reading(work.report, f"history of {slug}"):
            facts = _json(path)
            addresses = [str(row["sha256"])[:16] for row in facts["snapshots"]]
            if not all(map(ADDRESS.fullmatch, addresses)):
                raise ValueError("a digest is none")
            return [int(row["edition"]) for row in facts["editions"]], addresses
    return [], []


def _snapshot(work: _Work, place: Place, slug: str, by: Trust, address: str) -> bool:
    """Check a snapshot: its digest, signature and values; whether all are right."""
    path, what = place.get(f"snapshots/{address}.json"), f"snapshot {address[:16]}"
    if path is None:
        work.report.unchecked[what] = place.why(f"snapshots/{address}.json")
        return False
    signature = signed.Signed("snapshot", path, place.get(f"snapshots/{address}/signature.json"))
    if not (_has_digest(work.report, path, address) and signed.check(work.report, what, signature, by)):
        return False
    return _recompute(work, what, slug, path)


def _has_digest(report: Report, path: Path, address: str) -> bool:
    report.files += 1
    if hashlib.sha256(path.read_bytes()).hexdigest().startswith(address):
        report.note(f"snapshot {address[:16]}: its digest is its address")
        return True
    report.differs(f"snapshot {address[:16]}", "does not match its address, the beginning of its digest.")
    return False


def _recompute(work: _Work, what: str, slug: str, path: Path) -> bool:
    if slug not in work.brought:
        return False
    with _reading(work.report, what):
        facts = _json(path)
        try:
            again = work.site.frozen(slug, str(facts.get("phase", "")), int(facts["edition"]))
        except NotFound as error:
            work.report.unchecked[f"values of {what}"] = error.message
            return False
        return _on_record(work, what, facts, again)
    return False


def _on_record(work: _Work, what: str, facts: dict[str, Any], again: dict[str, Any]) -> bool:
    printed, other, is_whole = values.on_record(facts, again)
    if not is_whole:
        work.report.unchecked[f"ranks of {what}"] = SINCE
    return _note(work, what, printed, other)


def _lone_snapshot(work: _Work, path: Path, keys: Trust | None) -> None:
    """A snapshot's file alone: its digest and signature, where they are next to it."""
    address = path.stem
    if ADDRESS.fullmatch(address):
        _has_digest(work.report, path, address)
    file = path.with_suffix("") / "signature.json"
    signature = signed.Signed("snapshot", path, file if file.is_file() else None)
    signed.check(work.report, f"snapshot {address}", signature, keys or Trust({}))
    why = "They need the task's files. Verify the address of the snapshot, or a mirror that has it."
    work.report.unchecked[f"values of snapshot {address}"] = why


def _required(place: Place, path: str) -> Path:
    file = place.get(path)
    if file is None:
        raise Invalid(f"{place.address(path)} cannot be read. {place.why(path)}")
    return file


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except ValueError as error:
        raise Invalid(f"{path.name} is not JSON. Check the address.") from error
