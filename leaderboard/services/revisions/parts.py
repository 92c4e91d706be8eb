"""Judgments of rankings and what stands beside them, sent in one archive."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from leaderboard.errors import Invalid
from leaderboard.trec.read.bundles import base_name, kind_of, unbundled
from leaderboard.trec.read.lines import DEFAULT_LIMITS

PARTS = ("qrels", "distractors", "left_out", "changed_docnos")


@contextmanager
def parts_of(path: Path) -> Iterator[Mapping[str, Path]]:
    """Part -> file of a zip or tar, each named by its part, such as qrels.txt; gone afterwards.

    Raises Invalid for another kind of file, or a file in it that is named otherwise, TooLarge beyond limits.
    """
    names = ", ".join(PARTS)
    kind = kind_of(path, DEFAULT_LIMITS)
    if not kind:
        raise Invalid(f"Several parts come as a zip or tar of files named {names}.")
    files: dict[str, Path] = {}
    with TemporaryDirectory(prefix="judgments-") as folder:
        for member in unbundled(path, kind, Path(folder), DEFAULT_LIMITS, len(PARTS)):
            name = base_name(member.name)
            part = name.split(".")[0]
            if part not in PARTS or member.path is None or part in files:
                why = str(member.problem or f"Name each file by one of {names}, once.")
                raise Invalid(f"The archive holds {name}. {why}")
            files[part] = member.path
        yield files
