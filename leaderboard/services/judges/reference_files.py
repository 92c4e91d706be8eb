"""A board file that is to be a reference, alone or in an archive with what its runs declare."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from leaderboard.errors import Invalid
from leaderboard.trec.read.bundles import base_name, kind_of, unbundled
from leaderboard.trec.read.lines import DEFAULT_LIMITS

DECLARED = "declared.csv"


@dataclass(frozen=True, slots=True)
class ReferenceFiles:
    """The board, the name of its file, and what its runs declare; None where nothing came with it."""

    board: Path
    name: str
    declared: Path | None


@contextmanager
def files_of(path: Path, name: str) -> Iterator[ReferenceFiles]:
    """The board in a file, or in a zip or tar of it and `declared.csv`; gone afterwards.

    Raises Invalid for an archive with another number of boards than one, TooLarge beyond limits.
    """
    kind = kind_of(path, DEFAULT_LIMITS)
    if not kind:
        yield ReferenceFiles(path, name or "board", None)
        return
    boards, declared = [], None
    with TemporaryDirectory(prefix="reference-") as folder:
        for member in unbundled(path, kind, Path(folder), DEFAULT_LIMITS, 2):
            called = base_name(member.name)
            if member.path is None:
                raise Invalid(f"The archive holds {called}. {member.problem}")
            if called == DECLARED:
                declared = member.path
            else:
                boards.append((member.path, called))
        if len(boards) != 1:
            raise Invalid(f"An archive has one board file and, if runs declare anything, {DECLARED}.")
        yield ReferenceFiles(*boards[0], declared)
