"""What comes with judgments of answers: who made them, and several parts in one zip."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import cast, get_args

from leaderboard.errors import Invalid
from leaderboard.services.nuggets.reading import PartFile
from leaderboard.trec.nuggets.packing import PARTS, MadeBy, Maker, Part
from leaderboard.trec.read.bundles import base_name, kind_of, unbundled
from leaderboard.trec.read.lines import DEFAULT_LIMITS

NAME_CHARACTERS = 100
NAMES = ", ".join(PARTS)


def maker(kind: str, name: str) -> MadeBy:
    """Who made a part: human, machine or both, a machine by its name; raises Invalid."""
    if kind not in get_args(Maker):
        raise Invalid("Nuggets and labels are made by people, by a machine, or by both.")
    name = name.strip()[:NAME_CHARACTERS]
    if kind != "human" and not name:
        raise Invalid("Say which machine made them: scores are shown with its name.")
    return MadeBy(cast(Maker, kind), "" if kind == "human" else name)


@contextmanager
def parts_of(path: Path) -> Iterator[Mapping[Part, PartFile]]:
    """The parts in a zip or tar, each in a file named by it, such as nuggets.jsonl; gone afterwards.

    Raises Invalid for another kind of file, or a file in it that is named otherwise, TooLarge beyond limits.
    """
    kind = kind_of(path, DEFAULT_LIMITS)
    if not kind:
        raise Invalid(f"Several parts come as a zip or tar of files named {NAMES}.")
    files: dict[Part, PartFile] = {}
    with TemporaryDirectory(prefix="nuggets-") as folder:
        for member in unbundled(path, kind, Path(folder), DEFAULT_LIMITS, len(PARTS)):
            name = base_name(member.name)
            part = next((each for each in PARTS if name.split(".")[0] == each), None)
            if part is None or member.path is None or part in files:
                why = str(member.problem or f"Name each file by one of {NAMES}, once.")
                raise Invalid(f"The archive holds {name}. {why}")
            files[part] = PartFile(member.path, name)
        yield files
