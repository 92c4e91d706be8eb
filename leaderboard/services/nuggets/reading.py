"""Files of judgments of answers, together with what the revision before has of the parts not sent."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from leaderboard.errors import Invalid
from leaderboard.trec.nuggets.argue import ArguedAnswers, read_argued
from leaderboard.trec.nuggets.assignments import Assignments, read_assignments
from leaderboard.trec.nuggets.judgments import AnswerJudgments
from leaderboard.trec.nuggets.packing import Note, Part
from leaderboard.trec.nuggets.sets import NuggetSet, read_nuggets
from leaderboard.trec.nuggets.support import read_support

Read = TypeVar("Read")

WORDS: dict[Part, str] = {
    "nuggets": "nuggets",
    "assignments": "assignments",
    "support": "support labels",
    "argue": "Auto-ARGUE's judgments",
}


@dataclass(frozen=True, slots=True)
class PartFile:
    """A file that was sent of one part, and the name its sender gave it."""

    path: Path
    name: str


@dataclass(frozen=True)
class ReadFiles:
    """What was sent, with runs by the ids they have in the files; parts that were not sent are empty."""

    sent: AnswerJudgments
    kept: AnswerJudgments
    """The parts of the revision before that still hold, with runs by their digests."""
    notes: tuple[Note, ...]


def read(files: Mapping[Part, PartFile], before: AnswerJudgments) -> ReadFiles:
    """Read what was sent, next to the judgments before; raises Invalid, naming the file at fault."""
    if not files:
        raise Invalid("Choose a file: a nugget set, assignments, support labels, or Auto-ARGUE's judgments.")
    if "assignments" in files and "argue" in files:
        raise Invalid("Assignments and Auto-ARGUE's judgments both label nuggets; send one of the two.")
    nuggets = _read("nuggets", read_nuggets, files) or before.nuggets
    assignments = _assignments(files, nuggets)
    if assignments is not None:
        nuggets = replace(assignments.nuggets, notes=nuggets.notes)
    argued = _read("argue", read_argued, files)
    sent = AnswerJudgments(nuggets, assignments)
    if (support := _read("support", read_support, files)) is not None:
        sent = replace(sent, support=support)
    if argued is not None:
        sent = replace(sent, argued=argued)
    left, dropped = kept(files, before, nuggets)
    notes = (*nuggets.notes, *(argued.notes if argued else ()))
    return ReadFiles(sent, left, (*(Note(note.rule, note.remedy) for note in notes), *dropped))


def _assignments(files: Mapping[Part, PartFile], nuggets: NuggetSet) -> Assignments | None:
    known = nuggets if nuggets.topics else None
    return _read("assignments", lambda path: read_assignments(path, known), files)


def kept(
    parts: Collection[Part], before: AnswerJudgments, nuggets: NuggetSet
) -> tuple[AnswerJudgments, tuple[Note, ...]]:
    """What stays beside new parts; labels of nuggets that are others now are dropped, which is said."""
    notes = []
    left = AnswerJudgments(nuggets)
    if "support" not in parts:
        left = replace(left, support=before.support)
    if "assignments" in parts or "argue" in parts:
        if before.argued.cells and "assignments" in parts:
            notes.append(Note("The judgments of Auto-ARGUE before give way to these assignments."))
        if before.assignments is not None and "argue" in parts:
            notes.append(Note("The assignments before give way to Auto-ARGUE's judgments."))
        return left, tuple(notes)
    if before.assignments is not None:
        cells = before.assignments.cells
        same = {key: cell for key, cell in cells.items() if _is_same(key[1], before.nuggets, nuggets)}
        left = replace(left, assignments=Assignments(nuggets, same))
        if gone := tuple(sorted({topic for _, topic in cells.keys() - same.keys()})):
            rule = "Topics whose nuggets are others now, so that their assignments no longer hold"
            notes.append(Note(f"{rule}: {len(gone):,}.", "Send assignments of these nuggets.", "", gone))
    return replace(left, argued=ArguedAnswers(before.argued.cells)), tuple(notes)


def _is_same(topic: str, before: NuggetSet, after: NuggetSet) -> bool:
    old, new = (tuple(one.text for one in each.topics.get(topic, ())) for each in (before, after))
    return old == new


def _read(part: Part, reader: Callable[[Path], Read], files: Mapping[Part, PartFile]) -> Read | None:
    """What the reader makes of the part's file, None where none was sent; its errors name the file."""
    if part not in files:
        return None
    try:
        return reader(files[part].path)
    except Invalid as error:
        raise Invalid(f"{files[part].name} ({WORDS[part]}): {error.message}", error.problems) from error
