"""What comes with judgments of answers: who made them, and several parts in one zip."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import cast, get_args

from leaderboard.errors import Invalid, Problem, TooLarge
from leaderboard.services.nuggets.reading import PartFile
from leaderboard.trec.nuggets.packing import PARTS, MadeBy, Maker, Part
from leaderboard.trec.read.bundles import BundledFile, base_name, file_names, kind_of, member_name, unbundled
from leaderboard.trec.read.lines import DEFAULT_LIMITS, Limits, shown

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


def has_parts(path: Path, limits: Limits = DEFAULT_LIMITS) -> bool:
    """Whether an archive holds parts, by the names of its files; False for other files and damaged ones.

    One that has a part several times, as of several judges, holds files that do not belong together.
    """
    kind = kind_of(path, limits)
    try:
        names = file_names(path, kind, limits) if kind else []
    except (Invalid, TooLarge):
        return False
    parts = [part for name in names if (part := _part(base_name(member_name(name)))) is not None]
    return bool(parts) and len(parts) == len(set(parts))


@contextmanager
def parts_of(path: Path, limits: Limits = DEFAULT_LIMITS) -> Iterator[Mapping[Part, PartFile]]:
    """The parts in a zip or tar, each in a file named by it, such as nuggets.jsonl; gone afterwards.

    Raises Invalid for another kind of file, or a file in it that is named otherwise, TooLarge beyond limits.
    """
    kind = kind_of(path, limits)
    if not kind:
        raise Invalid(f"Several parts come as a zip or tar of files named {NAMES}.")
    files: dict[Part, PartFile] = {}
    with TemporaryDirectory(prefix="nuggets-") as folder:
        for member in unbundled(path, kind, Path(folder), limits, len(PARTS)):
            name = base_name(member.name)
            part = _part(name)
            if part is None or member.path is None or part in files or member.leads_outside:
                raise _refused(member, name)
            files[part] = PartFile(member.path, name)
        yield files


def _part(name: str) -> Part | None:
    return next((part for part in PARTS if name.split(".")[0] == part), None)


def _refused(member: BundledFile, name: str) -> Invalid:
    problem = Problem("It is none of the parts, or one that is there twice.", f"Name each by one of {NAMES}.")
    if member.leads_outside:
        problem = Problem("Its path is absolute or has `..`.", "Make the archive inside its folder.")
    why = replace(member.problem or problem, field="file", value=shown(name))
    return Invalid(f"The archive holds {name}. {member.problem or problem}", [why])
