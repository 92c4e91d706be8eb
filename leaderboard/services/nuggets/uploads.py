"""New judgments of answers: files of some parts, and what stays of the others."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from sqlalchemy.orm import Session

from leaderboard.errors import Conflict
from leaderboard.services import policy
from leaderboard.services.nuggets.prepared import KIND, PreparedAnswers, of_answers
from leaderboard.services.nuggets.reading import PartFile, read
from leaderboard.services.nuggets.resolving import resolved
from leaderboard.services.nuggets.stored import newest
from leaderboard.services.policy import Viewer
from leaderboard.services.qrels.judged_inputs import MAIN
from leaderboard.trec.nuggets.assignments import Assignments
from leaderboard.trec.nuggets.judgments import MANY_FAILED, AnswerJudgments
from leaderboard.trec.nuggets.packing import MadeBy, Note, PackedAnswers, Part
from leaderboard.trec.nuggets.sets import NuggetSet

LABELS = frozenset(("assignments", "argue"))
"""The parts that label nuggets."""


def prepare(
    session: Session,
    viewer: Viewer,
    slug: str,
    files: Mapping[Part, PartFile],
    made_by: Mapping[Part, MadeBy],
    *,
    leaves_out: bool | None = None,
    line: str = MAIN,
) -> PreparedAnswers:
    """The judgments that a revision of a line would hold: the parts sent, and the others as they are there.

    made_by: who made the parts sent, people where nothing is said; leaves_out None is as before. Labels of
    nuggets that another line than the board's is sent without a set are of the nuggets it has, else of the
    board's. Raises Invalid for a file that cannot be read, Conflict for a task of rankings.
    """
    task = policy.own_task(session, viewer, slug)
    if task.kind != KIND:
        raise Conflict(f"{task.name} takes rankings; nuggets and labels are for tasks of answers.")
    before = newest(session, task.id, line) or PackedAnswers(AnswerJudgments())
    takes_nuggets = line != MAIN and "nuggets" not in files and bool(LABELS & files.keys())
    if takes_nuggets:
        before = _with_nuggets_of_board(session, task.id, before)
    found = read(files, before.judgments)
    sent, notes = resolved(session, task.id, found.sent)
    makers = {part: made_by.get(part, MadeBy()) for part in files}
    whole = together(before, sent, found.kept, makers, (*found.notes, *notes))
    if takes_nuggets:
        whole = _of_labelled_topics(whole)
    if leaves_out is not None:
        whole = replace(whole, leaves_out=leaves_out)
    return of_answers(whole, ", ".join(file.name for file in files.values()))


def _with_nuggets_of_board(session: Session, task_id: int, before: PackedAnswers) -> PackedAnswers:
    """What a line holds, with the board's nuggets of topics that it has none of."""
    board = newest(session, task_id)
    if board is None:
        return before
    nuggets = NuggetSet({**board.judgments.nuggets.topics, **before.judgments.nuggets.topics})
    maker = before.made_by.get("nuggets", board.made_by.get("nuggets", MadeBy()))
    made_by: dict[Part, MadeBy] = {**before.made_by, "nuggets": maker}
    return replace(before, judgments=replace(before.judgments, nuggets=nuggets), made_by=made_by)


def _of_labelled_topics(whole: PackedAnswers) -> PackedAnswers:
    """The same without nuggets of topics of which nobody labelled any: these are not the line's to judge."""
    judgments = whole.judgments
    assigned = judgments.assignments.cells if judgments.assignments else {}
    labelled = {topic for _, topic in (*assigned, *judgments.argued.cells)}
    topics = {topic: given for topic, given in judgments.nuggets.topics.items() if topic in labelled}
    nuggets = replace(judgments.nuggets, topics=topics)
    again = None if judgments.assignments is None else Assignments(nuggets, assigned)
    return replace(whole, judgments=replace(judgments, nuggets=nuggets, assignments=again))


def together(
    before: PackedAnswers,
    sent: AnswerJudgments,
    kept: AnswerJudgments,
    made_by: Mapping[Part, MadeBy],
    notes: Iterable[Note] = (),
) -> PackedAnswers:
    """The new parts, and those before that stay; made_by: who made the new ones."""
    judgments = _joined(sent, kept)
    makers = {part: maker for part, maker in before.made_by.items() if _is_there(judgments, part)}
    makers |= made_by
    if "nuggets" not in makers and judgments.nuggets.topics:
        # Without a set of their own, assignments name the nuggets.
        makers["nuggets"] = makers.get("assignments", MadeBy())
    told = (*notes, *_failed(judgments))
    return PackedAnswers(judgments, dict(sorted(makers.items())), before.leaves_out, told)


def _joined(sent: AnswerJudgments, kept: AnswerJudgments) -> AnswerJudgments:
    """What was sent, and the parts before it that stay."""
    assigned = sent.assignments or kept.assignments
    return replace(
        sent,
        assignments=assigned and Assignments(sent.nuggets, assigned.cells),
        support=sent.support if sent.support.cells else kept.support,
        argued=sent.argued if sent.argued.cells else kept.argued,
    )


def _is_there(judgments: AnswerJudgments, part: Part) -> bool:
    return {
        "nuggets": bool(judgments.nuggets.topics),
        "assignments": judgments.assignments is not None,
        "support": bool(judgments.support.cells),
        "argue": bool(judgments.argued.cells),
    }[part]


def _failed(judgments: AnswerJudgments) -> tuple[Note, ...]:
    share = judgments.assignments.failed_share if judgments.assignments else 0.0
    if share <= MANY_FAILED:
        return ()
    rule = f"{share:.1%} of all assignments failed; they count as not held."
    return (Note(rule, "Assign them again."),)
