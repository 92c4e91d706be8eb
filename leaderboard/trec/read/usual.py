"""The form of a file of runs or judgments, recognised from its first block before its lines are checked.

Every reader of runs and qrels calls `usual`. It returns the file where its lines are of the usual form, a
`Converted` one where they can be converted to that form line by line, and raises Invalid with one sentence
for a file of another kind.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from leaderboard.errors import Invalid
from leaderboard.trec.read.archives import DEFAULT_LIMITS, Limits, Source
from leaderboard.trec.read.forms import (
    NAMES,
    RANK_NOT_GRADE,
    USUAL,
    Asked,
    Head,
    Kind,
    is_beir,
    is_grade,
    is_number,
    is_ranked,
    looks_ranked,
)

if TYPE_CHECKING:
    from leaderboard.trec.read.converted import Converted


def usual(
    source: Source, kind: Kind, limits: Limits = DEFAULT_LIMITS, asked: Asked = USUAL, *, strict: bool = True
) -> "Source | Converted":
    """The file if it has the usual form, or its contents as lines of that form.

    Raises Invalid with one problem, the form by its name and what to do, for a file of another kind.
    Archives, binary files and damaged ones are left to the reader, which has their sentences.
    """
    head = Head.of_file(source, limits)
    is_told = head.lines or b"\0" in head.block or head.block.startswith(b"# ir_metadata.start")
    # Lines that end in CR alone are the reader's to name.
    if not is_told or b"\r" in b"".join(head.lines) or (not asked.columns and _is_usual(head, kind, strict)):
        return source
    # Few files have another form, and a short command would wait for the import of their readers.
    if head.lines:
        from leaderboard.trec.read.converted import converted

        conversion = converted(source, head, kind, limits, asked)
        if conversion is not None:
            return conversion
    from leaderboard.trec.read.other_forms import problem_of

    problem = problem_of(head, kind)
    if problem is not None:
        raise Invalid(f"The {NAMES[kind]} cannot be read: {problem}", [problem])
    return source


@contextmanager
def unnumbered(source: "Source | Converted") -> Iterator[None]:
    """Remove line numbers from the problems of a file without numbered lines."""
    try:
        yield
    except Invalid as error:
        if getattr(source, "numbered", True):
            raise
        problems = [replace(problem, line=None) for problem in error.problems]
        more = "" if len(problems) < 2 else f" (and {len(problems) - 1} more)"
        message = error.message.split(": ", 1)[0] + f": {problems[0]}{more}" if problems else error.message
        raise Invalid(message, problems) from error


def _is_usual(head: Head, kind: Kind, strict: bool) -> bool:
    """Whether one of the first lines is readable in the usual form."""
    if not (lines := head.lines):
        return False
    if kind == "run":
        if any(len(fields := line.split()) >= 6 and is_number(fields[4]) for line in lines):
            return True
        return strict and all(is_ranked(line.split()) for line in lines)
    if any(b"\t" in line and is_grade(line.split(b"\t")[-1].strip()) for line in lines[1:2]) and is_beir(
        lines[0]
    ):
        return True
    counts = {len(line.split()) for line in lines}
    graded = all(is_grade(line.split()[-1]) for line in lines)
    return counts <= {3, 4} and len(counts) == 1 and graded and not looks_ranked(lines, RANK_NOT_GRADE)
