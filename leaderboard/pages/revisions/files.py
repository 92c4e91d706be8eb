"""Judgments of any revision as text, in the forms they are read in."""

from collections.abc import Iterator

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Qrels, QrelsRevision
from leaderboard.errors import NotFound
from leaderboard.pages.nuggets.files import text_of
from leaderboard.pages.revisions import revision as revision_pages
from leaderboard.services import policy
from leaderboard.services.nuggets import stored
from leaderboard.services.policy import Viewer
from leaderboard.services.qrels import judged_inputs, left_out, lines
from leaderboard.services.qrels.files import PreparedQrels
from leaderboard.services.qrels.lines import DRAFT
from leaderboard.trec.qrels.packed_left_out import left_out_lines

PARTS = (
    "qrels",
    "subtopics",
    "preferences",
    "distractors",
    "left_out",
    "nuggets",
    "assignments",
    "support",
    "argue",
)
"""What a revision may have a file of; qrels stands for all judgments of answers."""
_KINDS = {"subtopics": "subtopic", "preferences": "preference"}


def of_revision(session: Session, viewer: Viewer, slug: str, number: int, part: str) -> str:
    """A part of what the scores under a revision rest on; raises NotFound where it has no such part."""
    revision_id = revision_pages.revision_id(session, viewer, slug, number)
    revision = _whole(session, revision_id)
    if session.get_one(Qrels, revision.qrels_id).kind == "answers":
        return _of_answers(session, viewer, slug, revision, part)
    if part == "qrels":
        return text(lines.stored(session, revision))
    if part == "distractors" and revision.distractors is not None:
        return "".join(f"{docno.decode()}\n" for docno in sorted(lines.distractors_of(revision)))
    if part == "left_out" and revision.left_out is not None:
        return b"".join(left_out_lines(left_out.of_revision(revision).by_topic)).decode()
    beside = judged_inputs.companions(session, revision).get(_KINDS.get(part, ""))
    if beside is None:
        raise NotFound(f"Revision {number} has no {part}.")
    return text(lines.stored(session, _whole(session, beside)))


def _of_answers(session: Session, viewer: Viewer, slug: str, revision: QrelsRevision, part: str) -> str:
    task, sight = policy.visible_task(session, viewer, slug)
    return text_of(session, viewer, task, sight, stored.opened(revision.packed), part)


def of_line(session: Session, viewer: Viewer, slug: str, line_id: int, number: int) -> str:
    """A revision of any line; raises NotFound where there is none, or judgments are held back."""
    task, sight = policy.visible_task(session, viewer, slug)
    revision_id = session.scalar(
        select(QrelsRevision.id)
        .join(Qrels, Qrels.id == QrelsRevision.qrels_id)
        .where(
            Qrels.task_id == task.id,
            Qrels.id == line_id,
            Qrels.name.not_like(f"{DRAFT}%"),
            QrelsRevision.number == number,
        )
    )
    if revision_id is None or not sight.details:
        raise NotFound(f"{task.name} shows no such revision of judgments.")
    revision = _whole(session, revision_id)
    if session.get_one(Qrels, line_id).kind == "answers":
        return _of_answers(session, viewer, slug, revision, "qrels")
    return text(lines.stored(session, revision))


def text(prepared: PreparedQrels) -> str:
    """Judgments in TREC's four columns; preferences as pairs, or as levels where they name their judges.

    The reference of judges is a board file with a heading.
    """
    if prepared.kind == "board":
        return "".join(_board(prepared))
    if prepared.preferences is None:
        rows = sorted((topic, part or "0", docno, grade) for topic, part, docno, grade in prepared.rows)
        return "".join(f"{topic} {part} {docno.decode()} {grade}\n" for topic, part, docno, grade in rows)
    return "".join(_preferences(prepared))


def _board(prepared: PreparedQrels) -> Iterator[str]:
    yield "run\ttopic\tmeasure\tvalue\n"
    for (topic, measure, run), value in prepared.facts.items():
        yield f"{run}\t{topic}\t{measure}\t{value!r}\n"


def _preferences(prepared: PreparedQrels) -> Iterator[str]:
    facts = [(key, weight) for key, weight in sorted(prepared.facts.items())]
    if all(judge == "" for (_, judge, _, _), _ in facts):
        for (topic, _, better, worse), weight in facts:
            yield f"{topic} {better} {worse} {weight:g}\n"
        return
    for group, ((topic, judge, better, worse), _) in enumerate(facts, start=1):
        yield f"{topic} {judge or 'judge'} {group} {better} 1\n{topic} {judge or 'judge'} {group} {worse} 0\n"


def _whole(session: Session, revision_id: int) -> QrelsRevision:
    options = judged_inputs.WHOLE
    return session.get_one(QrelsRevision, revision_id, options=options)
