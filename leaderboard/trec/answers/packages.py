"""Submitted files of answers: plain or compressed lines, or LongEval's zip of lines and metadata."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from leaderboard.errors import Invalid, Problem, TooLarge
from leaderboard.trec.answers.dialects import DIALECTS, LONGEVAL, Dialect, biogen_2024, recognised
from leaderboard.trec.read.bundles import base_name, kind_of, unbundled, zip_names
from leaderboard.trec.read.json_objects import LONG_LINES, Fault, object_of
from leaderboard.trec.read.lines import numbered_lines, plain_blocks
from leaderboard.trec.read.metadata import parse_file

RESPONSES, METADATA = "generated-responses.jsonl", "ir-metadata.yml"
MOST_FILES = 20
_BIOGEN = re.compile(rb'\A\s*\{\s*"(?:team_id|run_name|contact_email|results)"\s*:')


@contextmanager
def opened(path: Path, allowed: tuple[str, ...] = ()) -> Iterator[tuple[Path, Dialect]]:
    """The lines of a file of answers, and their dialect: the only one allowed, or the one of the first line.

    A zip is unpacked into a temporary folder. Raises Invalid for another kind of file, or one in a dialect
    that is not allowed (empty: all are), TooLarge beyond the limits of files.
    """
    if kind_of(path, LONG_LINES) != "zip":
        _refuse_biogen(path)
        dialect = DIALECTS[allowed[0]] if len(allowed) == 1 else _first(path)
        if dialect is LONGEVAL:
            rule = f"LongEval answers are a zip of {RESPONSES} and {METADATA}."
            raise _invalid(Problem(rule, "Submit the zip, or check the lines alone as rag25."))
        _require_allowed(dialect, allowed)
        yield path, dialect
        return
    _require_allowed(LONGEVAL, allowed)
    with TemporaryDirectory(prefix="answers-") as folder:
        yield _members(path, Path(folder))[RESPONSES], LONGEVAL


def is_package(path: Path) -> bool:
    """Whether a file is LongEval's zip, one run, by the names of what is in it; False for a damaged one."""
    if kind_of(path, LONG_LINES) != "zip":
        return False
    try:
        return [base_name(name) for name in zip_names(path, MOST_FILES)].count(RESPONSES) == 1
    except (Invalid, TooLarge):
        return False


def metadata_of(path: Path) -> dict[str, Any]:
    """The metadata in LongEval's zip, nested as written; {} for other files.

    Raises as `opened` does.
    """
    if kind_of(path, LONG_LINES) != "zip":
        return {}
    with TemporaryDirectory(prefix="answers-") as folder:
        return parse_file(_members(path, Path(folder))[METADATA])


def _first(path: Path) -> Dialect:
    """The dialect of the first non-blank line; raises Invalid."""
    for number, line in numbered_lines(path, LONG_LINES):
        if not line.strip():
            continue
        try:
            return recognised(object_of(line))
        except Fault as fault:
            raise _invalid(fault.problem(number)) from fault
    raise _invalid(Problem("The file has no answers.", "Write one JSON object per topic, one per line."))


def _refuse_biogen(path: Path) -> None:
    """Raise Invalid for a file that begins as one document of BioGen 2024, on one line or over several."""
    head = next(plain_blocks(path, LONG_LINES), b"")
    if _BIOGEN.match(head) and b'"run_name"' in head:
        raise _invalid(biogen_2024().problem(1))


def _require_allowed(dialect: Dialect, allowed: tuple[str, ...]) -> None:
    if allowed and dialect.name not in allowed:
        rule = f"The file is in the dialect {dialect.name}; {', '.join(allowed)} are accepted."
        raise _invalid(Problem(rule, "Use the track's dialect.", None, "dialect", dialect.name))


def _members(path: Path, folder: Path) -> dict[str, Path]:
    """The files of LongEval's zip by name; raises Invalid where one of the two is missing."""
    paths: dict[str, Path] = {}
    for member in unbundled(path, "zip", folder, LONG_LINES, MOST_FILES):
        if member.problem is not None:
            raise _invalid(member.problem)
        if member.path is not None:
            paths[base_name(member.name)] = member.path
    for name in (RESPONSES, METADATA):
        if name not in paths:
            remedy = f"Put {RESPONSES} and {METADATA} into the zip."
            raise _invalid(Problem(f"The zip has no {name}.", remedy, None, "file", name))
    return paths


def _invalid(problem: Problem) -> Invalid:
    return Invalid(f"The answers cannot be read: {problem}", [problem])
