"""Judgments as they are sent, by a form or a program: read, and kept as a draft."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

from sqlalchemy.orm import Session

from leaderboard.answers.ops.nuggets import reading
from leaderboard.answers.ops.nuggets.reading import PartFile, maker
from leaderboard.core import policy
from leaderboard.core.actions import Action, File, Given, Received
from leaderboard.core.policy import Viewer
from leaderboard.errors import Invalid
from leaderboard.fields import Field
from leaderboard.qrels.ops import revisions
from leaderboard.scoring.ops.qrels import files as qrels
from leaderboard.scoring.ops.qrels.files import MAIN
from leaderboard.trec.nuggets.packing import PARTS as ANSWER_PARTS
from leaderboard.trec.qrels.align import read_distractors
from leaderboard.trec.read import forms
from leaderboard.trec.read.bundles import base_name, kind_of, unbundled
from leaderboard.trec.read.lines import DEFAULT_LIMITS

PARTS = ("qrels", "distractors", "left_out", "changed_docnos")
_MADE = dict.fromkeys(ANSWER_PARTS, "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgments:
    """What a file of judgments holds, whose they are, and what is new in them."""

    holds: Annotated[
        str,
        Field(
            title="This file contains",
            help="Several parts come in a zip, in files named by part: qrels, distractors, left_out and "
            "changed_docnos; of answers, nuggets, assignments, support or argue.",
            choices=dict.fromkeys(("graded", "preference", *PARTS[1:3], *ANSWER_PARTS, "parts"), ""),
        ),
    ] = "graded"
    second: Annotated[
        str,
        Field(
            title="Second column of grades",
            help="The meaning of the second column of graded judgments.",
            choices={
                "": "detect: subtopics if a document has several values per topic",
                "subtopics": "subtopics",
                "rounds": "a round number or other value to ignore",
            },
        ),
    ] = ""
    map: Annotated[
        str,
        Field(
            title="Mapping",
            help="How to read graded judgments, one entry per line: “relevant=1” for a grade given as text, "
            "“grade=1” for a file without grades, “columns=topic,-,docno,grade”, or “topics=task” to convert "
            "topic ids to the task’s form.",
            longest=100_000,
            rows=3,
        ),
    ] = ""
    origin: Annotated[
        str,
        Field(
            title="Judged by",
            help="Human and machine judgments of documents are never mixed: each has its own series.",
            choices={
                "": "unchanged",
                "human": "people",
                "machine": "a machine",
                "both": "a machine, edited by people",
            },
        ),
    ] = ""
    origin_name: Annotated[
        str, Field(title="Machine name", help="Required for judgments of a machine.", read=str.strip)
    ] = ""
    by: Annotated[Mapping[str, str], Field(title="Made by", choices=_MADE, prefix="by-", is_of_form=True)] = (
        field(default_factory=dict)
    )
    """Of each part of answers, where they differ."""
    names: Annotated[
        Mapping[str, str], Field(title="Machine name", choices=_MADE, prefix="name-", is_of_form=True)
    ] = field(default_factory=dict)
    note: Annotated[str, Field(title="Change note", help="What is new in this revision.")]
    line: Annotated[
        str,
        Field(
            title="Judgment series",
            help="Leave empty to add to the judgments the board is based on. A name starts a separate series "
            "with its own revisions, marked by origin.",
            longest=60,
            read=lambda text: text.strip() or MAIN,
        ),
    ] = MAIN
    file_name: Annotated[str, Field(title="Name of the file", is_of_api=True)] = ""
    leaves_out: Annotated[
        bool | None,
        Field(
            title="Topics without vital nuggets",
            help="Whether measures of vital nuggets exclude them.",
            choices={
                "": "unchanged (initially: every run scores 0)",
                "1": "exclude them from measures of vital nuggets",
                "0": "every run scores 0 by measures of vital nuggets",
            },
        ),
    ] = None
    earlier: Annotated[
        str,
        Field(
            title="Or all documents judged in earlier revisions",
            help="Revision numbers, such as 1, 2; this makes the revision residual. It uses the judgment "
            "file, or without one the new judgments of the revision below.",
        ),
    ] = ""
    later: Annotated[
        int | None, Field(title="Use new judgments of revision", help="Leave empty for the newest.")
    ] = None
    leave_out_query: Annotated[
        bool,
        Field(
            title="Leave out the query document",
            help="From each topic, the document whose docno is the topic id.",
        ),
    ] = False
    no_distractors: Annotated[bool, Field(title="Remove all distractors", is_of_form=True)] = False
    no_left_out: Annotated[bool, Field(title="Leave no documents out any more", is_of_form=True)] = False


def _settings(session: Session, viewer: Viewer, slug: str) -> tuple[str, int]:
    """What the task's runs are, and its dialect of trec_eval."""
    task = policy.own_task(session, viewer, slug)
    return task.kind, task.dialect


def _prepare(given: Given, sent: Judgments) -> dict[str, Any]:
    """What `keep_draft` keeps; raises Invalid with the lines at fault."""
    (takes, dialect), files = given.allowed, dict(given.files)
    is_bundle = sent.holds == "parts"
    if sent.holds in ANSWER_PARTS or (takes == "answers" and (is_bundle or "qrels" not in files)):
        return {"prepared": _answers(given, sent)}
    if sent.origin == "both":
        raise Invalid(
            "Judgments of rankings are by people or by a machine; each has its own judgment series."
        )
    if sent.second and sent.holds not in ("graded", "parts"):
        raise Invalid("Only graded judgments have a second column.")
    mapping = forms.asked([sent.map], dialect)
    if is_bundle and "qrels" in files:
        with parts_of(files["qrels"].path) as parts:
            return _rankings({part: Received(path, path.name) for part, path in parts.items()}, sent, mapping)
    if sent.holds in PARTS and "qrels" in files:
        files[sent.holds] = files.pop("qrels")
    return _rankings(files, sent, mapping)


def _rankings(files: Mapping[str, Received], sent: Judgments, mapping: forms.Asked) -> dict[str, Any]:
    paths = {part: files[part].path if part in files else None for part in PARTS}
    left_out = revisions.read_left_out(
        paths["left_out"],
        paths["changed_docnos"],
        earlier=revisions.numbers(sent.earlier),
        later=sent.later,
        drop=sent.no_left_out,
        query=sent.leave_out_query,
    )
    path, listed = paths["qrels"], paths["distractors"]
    if path is None and listed is None and left_out is None and not sent.no_distractors:
        raise Invalid("Choose a judgment file, a list of distractors or a list of documents left out.")
    kind = "preference" if sent.holds == "preference" else "graded"
    name = base_name(sent.file_name) or (files["qrels"].name if path else "")
    distractors = read_distractors(listed) if listed else frozenset() if sent.no_distractors else None
    return {
        "prepared": qrels.prepare(path, name, kind, sent.second, mapping) if path else None,
        "origin": sent.origin or None,
        "origin_name": sent.origin_name,
        "distractors": distractors,
        "left_out": left_out,
    }


def _answers(given: Given, sent: Judgments) -> reading.PreparedAnswers:
    """The parts that were sent, in fields, alone or in an archive, and the earlier others."""
    files = {part: PartFile(file.path, file.name) for part in ANSWER_PARTS if (file := given.files.get(part))}
    with contextmanager(_parts)(given.files.get("qrels"), sent.holds) as others:
        files |= others
        makers = {
            part: maker(sent.by.get(part) or sent.origin or "human", sent.names.get(part) or sent.origin_name)
            for part in files
        }
        with given.sessions.reading() as session:
            return reading.prepare(
                session, given.viewer, given.at[0], files, makers, leaves_out=sent.leaves_out, line=sent.line
            )


def _parts(file: Received | None, holds: str) -> Iterator[Mapping[Any, PartFile]]:
    if file is None:
        yield {}
    elif holds in ANSWER_PARTS:
        yield {holds: PartFile(file.path, file.name or holds)}
    else:
        with reading.parts_of(file.path) as parts:
            yield parts


@contextmanager
def parts_of(path: Path) -> Iterator[Mapping[str, Path]]:
    """Part -> file of a zip or tar, each named by its part, such as qrels.txt; temporary.

    Raises Invalid for another kind of file or an unknown member name, TooLarge beyond limits.
    """
    names = ", ".join(PARTS)
    kind = kind_of(path, DEFAULT_LIMITS)
    if not kind:
        raise Invalid(f"Send several parts as a zip or tar with files named {names}.")
    files: dict[str, Path] = {}
    with TemporaryDirectory(prefix="judgments-") as folder:
        for member in unbundled(path, kind, Path(folder), DEFAULT_LIMITS, len(PARTS)):
            name = base_name(member.name)
            part = name.split(".")[0]
            if part not in PARTS or member.path is None or part in files:
                why = str(member.problem or f"Name each file by one of {names}, once.")
                raise Invalid(f"The archive contains {name}. {why}")
            files[part] = member.path
        yield files


SEND = Action(
    name="draft_revision",
    summary="Upload judgments",
    more="The body is the file. The judgments are kept as a draft for one day: preview their changes, then "
    "publish or discard them. Parts of nuggets and labels that are not uploaded stay unchanged.",
    path="/tasks/<slug>/revisions/drafts",
    form="/tasks/<slug>/revisions",
    may=_settings,
    record=Judgments,
    file=File(field="qrels", others=(*PARTS[1:], *ANSWER_PARTS), body="FILES", prepare=_prepare),
    act=lambda session, viewer, slug, kept, sent: revisions.keep_draft(
        session, viewer, slug, note=sent.note, line=sent.line, **kept
    ),
    status=201,
)
