"""Import labels of one assessor from a file: a person who judged elsewhere, or a machine."""

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

from sqlalchemy import insert, select
from sqlalchemy.orm import Session

from leaderboard import fields
from leaderboard.core import audit, prose
from leaderboard.core.actions import Action, File
from leaderboard.core.policy import Scope, Viewer
from leaderboard.db.engine import now
from leaderboard.db.tables import Assessment, PoolTopic
from leaderboard.errors import Closed, Invalid, NotFound, Problem
from leaderboard.fields import Field
from leaderboard.judging.ops import judging
from leaderboard.judging.ops.pools import pools, previews
from leaderboard.scoring.ops import collections, setting_values
from leaderboard.trec.qrels.qrels import read_qrels
from leaderboard.trec.read.json_objects import objects
from leaderboard.trec.read.lines import DEFAULT_LIMITS, Limits, Problems, numbered_lines, shown, text_of

ROWS_AT_ONCE = 5000
ORDER = ("topic", "docno", "grade")
FIELDS = frozenset(ORDER)
SHOWN_UNKNOWN = 5
EXAMPLE_CHARACTERS = 20_000
MOST_EXAMPLES = 50
MOST_GRADES = 100


@dataclass(frozen=True, slots=True, eq=False)
class PreparedLabels:
    """A labels file, read without a session."""

    labels: tuple[tuple[str, str, int], ...]
    """(topic, docno, grade)."""
    sha256: str
    skipped: int = 0
    """Documents without a grade."""


@dataclass(frozen=True, slots=True)
class ImportedLabels:
    """The result of importing a labels file."""

    assessor: str
    added: int
    known: int
    """Already imported earlier."""
    outside: int
    """Labels of documents outside the pool, which are left out."""
    skipped: int = 0
    """Documents without a grade in the file, which are left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelsQuery:
    """The source of imported labels: an assessor's name, human or machine, and which machine."""

    name: Annotated[str, Field(title="Assessor name", longest=60)]
    origin: Annotated[
        str,
        Field(
            title="Judged by", help="human or machine.", choices={"machine": "a machine", "human": "a person"}
        ),
    ] = judging.HUMAN
    origin_name: Annotated[str, Field(title="Machine (model, version, prompt)", longest=60)] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Guidelines:
    """Guidelines in Markdown."""

    text: Annotated[str, Field(title="Guidelines (Markdown)", rows=12, longest=prose.CHARACTERS)]


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedGrade:
    """A grade and its name."""

    grade: Annotated[int, Field(title="Grade", help="The grade.", least=-99, most=99)]
    name: Annotated[str, Field(title="Name", help="The name of the grade.")]


def _grades(text: str) -> tuple[NamedGrade, ...]:
    """The grade and name on every line: `1 partly relevant`."""
    parts = (line.strip().partition(" ") for line in text.splitlines() if line.strip())
    return tuple(fields.read(NamedGrade, {"grade": grade, "name": name}) for grade, _, name in parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class GradeNames:
    """All named grades."""

    grades: Annotated[
        tuple[NamedGrade, ...],
        Field(
            title="Grades and names, one per line",
            help="From 0 (not relevant) to 9, such as: 1 partly relevant. Grades below 0 have a button but "
            "no key. The grades apply to the whole task.",
            rows=5,
            least=0,
            most=MOST_GRADES,
            read=_grades,
        ),
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A worked example: a topic, a stored document or your own text, its grade, and the reason."""

    topic: Annotated[str, Field(title="Topic (as text)", longest=500, least=0)]
    docno: Annotated[str, Field(title="Document id (the text must be stored here)")] = ""
    text: Annotated[str, Field(title="Or your own text", rows=4, longest=EXAMPLE_CHARACTERS)] = ""
    grade: Annotated[int, Field(title="Grade", least=-99, most=99)]
    why: Annotated[str, Field(title="Reason", rows=2, longest=EXAMPLE_CHARACTERS)] = ""


def prepare(path: Path, name: str = "", limits: Limits = DEFAULT_LIMITS) -> PreparedLabels:
    """Read qrels, or assessments that a pool exports as CSV or JSON lines, of one assessor.

    name: the assessor, if the file has labels by several. Raises Invalid with the lines at fault.
    """
    events = list(_events(path, limits))
    labels, skipped = _in_force(events, name) if events else (_of_qrels(path, limits), 0)
    digest = sha256(repr(labels).encode("utf-8", "surrogateescape")).hexdigest()
    return PreparedLabels(labels, digest, skipped)


def _of_qrels(path: Path, limits: Limits) -> tuple[tuple[str, str, int], ...]:
    return tuple(
        (topic, text_of(docno), grade)
        for topic, grades in read_qrels(path, limits).judgments.items()
        for docno, grade in grades.items()
    )


def _events(path: Path, limits: Limits) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Rows of a file that names its fields topic, docno and grade; empty for any other file."""
    lines = numbered_lines(path, limits)
    number, first = next(((number, line) for number, line in lines if line.strip()), (0, ""))
    if first.startswith("{"):
        problems = Problems("file of labels")
        yield from objects(path, problems)
        problems.stop()
    elif set(columns := _cells(first)) >= FIELDS:
        reader = csv.DictReader((line for _, line in lines), columns)
        try:
            yield from ((number + reader.line_num, row) for row in reader)
        except csv.Error as error:
            rule = f"cannot be read as a row of CSV: {error}."
            problem = Problem(rule, "Save the file as CSV in UTF-8 again.", line=number + reader.line_num)
            raise Invalid("The file of labels cannot be read.", [problem]) from error


def _cells(line: str) -> list[str]:
    try:
        return next(csv.reader([line]), [])
    except csv.Error:
        # A line that cannot be parsed is not a header.
        return []


def _in_force(
    events: Sequence[tuple[int, Mapping[str, Any]]], name: str
) -> tuple[tuple[tuple[str, str, int], ...], int]:
    """The last grade of each document that was not withdrawn, and the number of documents without a grade."""
    problems = Problems("file of labels")
    names = list(dict.fromkeys(str(row.get("assessor") or "") for _, row in events))
    if len(names) > 1 and name not in names:
        raise Invalid(f"The file has labels by {', '.join(names[:SHOWN_UNKNOWN])}. Choose one of them.")
    own = [event for event in events if len(names) == 1 or event[1].get("assessor") == name]
    last: dict[tuple[str, str], int | None] = {}
    for line, row in sorted(own, key=lambda event: str(event[1].get("saved_at") or "")):
        if str(row.get("undone")).casefold() == "true":
            continue
        topic, docno, grade = (str(row.get(key) if row.get(key) is not None else "") for key in ORDER)
        if not topic or not docno or (grade and not re.fullmatch(r"-?\d{1,9}", grade)):
            rule = (
                "A label needs a topic, a docno and a whole number as grade, or no grade if it was skipped."
            )
            problems.add(Problem(rule, "Correct the line.", line, "grade", shown(grade)))
            continue
        last[topic, docno] = int(grade) if grade else None
    problems.stop()
    labels = tuple((*place, grade) for place, grade in sorted(last.items()) if grade is not None)
    return labels, len(last) - len(labels)


def add(
    session: Session, viewer: Viewer, slug: str, number: int, prepared: PreparedLabels, source: LabelsQuery
) -> ImportedLabels:
    """Add the labels of one assessor to a pool; adding the same labels again changes nothing.

    Labels of a machine stay marked: its assessor is a machine, and no other may have its name. Raises
    Closed for a closed pool, Invalid for grades that the task does not have, and the errors of links.ensure.
    """
    task, pool = pools.own_pool(session, viewer, slug, number)
    if pool.state == "closed":
        raise Closed("This pool is closed. Reopen it before you add labels.")
    _refuse_grades(prepared, setting_values.grades_of_scale(task))
    assessor = judging.ensure(session, viewer, task, source.name, source.origin, source.origin_name)
    bodies = session.execute(select(PoolTopic.topic_id, PoolTopic.body).where(PoolTopic.pool_id == pool.id))
    inside = {(row.topic_id, document.docno) for row in bodies for document in previews.unpack(row.body)}
    keys = set(session.scalars(select(Assessment.key).where(Assessment.assessor_id == assessor.id)))
    at = now(session)
    of_pool = [label for label in prepared.labels if label[:2] in inside]
    fresh = [label for label in of_pool if _key(prepared, label) not in keys]
    rows = (_row(prepared, label, pool.id, assessor.id, at) for label in fresh)
    for some in _batches(rows):
        session.execute(insert(Assessment), some)
    done = ImportedLabels(
        assessor=assessor.name,
        added=len(fresh),
        known=len(of_pool) - len(fresh),
        outside=len(prepared.labels) - len(of_pool),
        skipped=prepared.skipped,
    )
    audit.record(
        session,
        viewer,
        "pool.labels",
        f"pool:{pool.id}",
        assessor=assessor.id,
        sha256=prepared.sha256,
        added=done.added,
        outside=done.outside,
    )
    return done


def _refuse_grades(prepared: PreparedLabels, grades: frozenset[int]) -> None:
    strange = sorted({grade for _, _, grade in prepared.labels} - grades)
    if strange:
        rule = f"must be one of {', '.join(map(str, sorted(grades)))}, the grades of this task."
        remedy = "Add the grade on the guidelines page, or correct the file."
        raise Invalid(
            "These labels cannot be added.",
            [Problem(rule, remedy, field="grade", value=str(grade)) for grade in strange[:SHOWN_UNKNOWN]],
        )


def _key(prepared: PreparedLabels, label: tuple[str, str, int]) -> str:
    """A key that depends only on the label and the file, so that each label is stored once."""
    text = f"{prepared.sha256}\n{label[0]}\n{label[1]}".encode("utf-8", "surrogateescape")
    return f"file:{sha256(text).hexdigest()[:48]}"


def _row(
    prepared: PreparedLabels, label: tuple[str, str, int], pool_id: int, assessor_id: int, at: datetime
) -> dict[str, Any]:
    topic, docno, grade = label
    return {
        "pool_id": pool_id,
        "topic_id": topic,
        "docno": docno,
        "assessor_id": assessor_id,
        "grade": grade,
        "saved_at": at,
        "sent_at": at,
        "key": _key(prepared, label),
    }


def _batches(rows: Iterator[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    while some := list(islice(rows, ROWS_AT_ONCE)):
        yield some


def set_text(session: Session, viewer: Viewer, slug: str, number: int, text: str) -> None:
    """Set the guidelines as Markdown; raises Invalid if they are too long."""
    _, pool = pools.own_pool(session, viewer, slug, number)
    if rule := prose.broken_rule(text):
        raise Invalid(f"The guidelines {rule} Write them more simply.")
    pool.guidelines = text.replace("\r\n", "\n").strip()
    audit.record(session, viewer, "pool.guidelines", f"pool:{pool.id}")


def add_example(session: Session, viewer: Viewer, slug: str, number: int, example: Example) -> None:
    """Add a worked example: topic, docno (with stored text) or text, grade, reason.

    Raises Invalid if a part is missing or does not fit.
    """
    task, pool = pools.own_pool(session, viewer, slug, number)
    texts = ("topic", "docno", "text", "why")
    tidy = {name: getattr(example, name).replace("\r\n", "\n").strip() for name in texts}
    problems = []
    if len(pool.examples) >= MOST_EXAMPLES:
        problems.append(
            Problem(f"The limit of {MOST_EXAMPLES} examples is reached.", "Remove an example first.")
        )
    if example.grade not in setting_values.grades_of_scale(task):
        problems.append(Problem("must be one of the task’s grades.", field="grade"))
    if bool(tidy["docno"]) == bool(tidy["text"]):
        remedy = "Enter the id of a stored document, or your own text."
        problems.append(Problem("Enter either a document id or a text, not both.", remedy, field="docno"))
    if tidy["docno"] and not collections.texts(session, task.collection_id, [tidy["docno"]]):
        rule = "must be a document whose text is stored here."
        problems.append(Problem(rule, "Or enter its text.", field="docno", value=tidy["docno"][:80]))
    if problems:
        raise Invalid("This example cannot be added.", problems)
    pool.examples = [*pool.examples, {**tidy, "grade": example.grade}]
    audit.record(session, viewer, "pool.example", f"pool:{pool.id}")


def remove_example(session: Session, viewer: Viewer, slug: str, number: int, place: int) -> None:
    """Remove the example at a position, counted from 1; raises NotFound if absent."""
    _, pool = pools.own_pool(session, viewer, slug, number)
    if not 1 <= place <= len(pool.examples):
        raise NotFound(f"Example {place} no longer exists.")
    pool.examples = [example for index, example in enumerate(pool.examples, 1) if index != place]
    audit.record(session, viewer, "pool.example", f"pool:{pool.id}", removed=place)


def name_grades(session: Session, viewer: Viewer, slug: str, number: int, names: GradeNames) -> None:
    """Name the grades of a pool's task; raises Invalid as `rename_grades`."""
    setting_values.rename_grades(session, viewer, slug, {row.grade: row.name for row in names.grades})


_POOL = "/tasks/<slug>/pools/<id:number>"
LABELS = Action(
    name="add_labels",
    summary="Import labels of an assessor or a machine",
    more="The body is the file, in qrels format or as exported from a pool (CSV, JSON lines). Labels that "
    "are already known are counted and kept.",
    path=f"{_POOL}/labels",
    form=f"{_POOL}/labels",
    page="assessors.show",
    scopes=(Scope.JUDGE, Scope.ORGANISE),
    may=pools.own_pool,
    record=LabelsQuery,
    file=File(
        field="labels",
        missing="Choose a labels file.",
        body="FILES",
        prepare=lambda given, source: prepare(given.files["labels"].path, source.name),
    ),
    act=add,
    status=201,
)
_ABOUT_POOL: dict[str, Any] = {"page": "assessors.guidelines", "may": pools.own_pool}
GUIDELINES = (
    Action(
        name="write_guidelines",
        summary="Set the guidelines of a pool",
        method="PUT",
        path=f"{_POOL}/guidelines",
        form=f"{_POOL}/guidelines",
        record=Guidelines,
        act=lambda session, viewer, slug, number, asked: set_text(session, viewer, slug, number, asked.text),
        done="guidelines saved",
        **_ABOUT_POOL,
    ),
    Action(
        name="name_grades",
        summary="Name the grades that assessors give",
        more="The grades apply to all pools of the task.",
        method="PUT",
        path=f"{_POOL}/grades",
        form=f"{_POOL}/grades",
        record=GradeNames,
        act=name_grades,
        done="grades saved",
        **_ABOUT_POOL,
    ),
    Action(
        name="add_example",
        summary="Add a worked example to the guidelines",
        path=f"{_POOL}/examples",
        form=f"{_POOL}/examples",
        record=Example,
        act=add_example,
        done="example added",
        status=201,
        **_ABOUT_POOL,
    ),
    Action(
        name="remove_example",
        summary="Remove a worked example from the guidelines",
        more="Identified by its position, from 1.",
        method="DELETE",
        path=f"{_POOL}/examples/<id:place>",
        form=f"{_POOL}/examples/<id:place>/remove",
        act=remove_example,
        done="example removed",
        **_ABOUT_POOL,
    ),
)
