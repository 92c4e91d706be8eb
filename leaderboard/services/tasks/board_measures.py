"""The measures of a task's board: which ones it can have, and choosing others later."""

from collections.abc import Collection, Sequence

from sqlalchemy.orm import Session

from leaderboard.db.engine import lock_row
from leaderboard.db.tables import Collection as CollectionOfDocuments
from leaderboard.db.tables import Task
from leaderboard.errors import Conflict, Invalid
from leaderboard.measures.grammar import BoundMeasure, parse, with_level
from leaderboard.services import audit, policy
from leaderboard.services.evaluations import editions
from leaderboard.services.evaluations.shown import ShownEdition
from leaderboard.services.policy import Viewer
from leaderboard.services.qrels import files, judged_inputs

SIZE = "collection size"
BESIDE = frozenset({"subtopics", "preferences"})
"""Needs that judgments may meet besides grades."""
REMEDIES = {
    "subtopics": "add judgments of subtopics first",
    "preferences": "add preferences first",
    "documents": "leave it out",
    SIZE: "give the task a collection",
}


def for_board(
    names: Sequence[str], primary: str, level: int, available: Collection[str]
) -> tuple[tuple[str, ...], str]:
    """Canonical keys of a board's measures, and of the one it is ranked by, which is among them.

    names are of any form that the grammar reads, level is the lowest relevant grade where they say none;
    available: needs that the task meets. Raises UnknownMeasure, or Invalid where a board cannot have one.
    """
    keys = [_fit(with_level(parse(name), level), available).key for name in names]
    bound = _fit(with_level(parse(primary), level), available)
    if bound.measure.direction == "none":
        raise Invalid(
            f"{primary} has no better or worse, so a board cannot rank by it; choose another primary."
        )
    if bound.key not in keys:
        keys.insert(0, bound.key)
    return tuple(dict.fromkeys(keys)), bound.key


def choose(session: Session, viewer: Viewer, slug: str, names: Sequence[str], primary: str) -> None:
    """Give the board other measures, or another one to be ranked by.

    A new edition is built: what is known of a run's scores is taken over, what is not is computed, and
    the board changes at once when all of it is there. Raises Conflict where nothing would change.
    """
    task = policy.own_task(session, viewer, slug)
    lock_row(session, Task, task.id)
    if not names:
        raise Invalid("A board needs at least one measure.")
    keys, chosen = for_board(names, primary or names[0], task.level, available(session, task))
    if list(keys) == task.measures and chosen == task.primary_measure:
        raise Conflict("These are the board's measures already; nothing was changed.")
    task.measures, task.primary_measure = list(keys), chosen
    session.flush()
    revision = files.newest(session, task.id)
    if revision is not None and task.published_at is not None:
        editions.build(session, task, revision)
    audit.record(session, viewer, "task.measures", f"task:{task.id}", measures=" ".join(keys), primary=chosen)


def available(session: Session, task: Task) -> frozenset[str]:
    """The needs of measures that the task meets, or may meet with judgments that are still to come."""
    size = session.get_one(CollectionOfDocuments, task.collection_id).size
    needs = {"graded"} if size is None else {"graded", SIZE}
    revision = files.newest(session, task.id)
    return frozenset(needs | (BESIDE if revision is None else judged_inputs.has(session, revision)))


def lacking(shown: ShownEdition) -> tuple[str, ...]:
    """Why measures of the shown edition have no scores, in sentences; empty where all have what they need."""
    if shown.edition is None or shown.basis is None:
        return ()
    has = judged_inputs.needs_met_by(shown.kinds)
    needs = {measure["key"]: parse(measure["key"]).measure.needs for measure in shown.edition.measures}
    revision = shown.basis.revision
    return tuple(
        f"{key} has no scores: qrels revision {revision} has no {' and no '.join(sorted(missing))}."
        for key, need in needs.items()
        if (missing := (need & BESIDE) - has)
    )


def _fit(bound: BoundMeasure, there: Collection[str]) -> BoundMeasure:
    """The measure itself; raises Invalid where a board cannot have it."""
    missing = sorted(bound.measure.needs - {"graded"} - set(there))
    if missing:
        remedy = " and ".join(REMEDIES.get(need, "leave it out") for need in missing)
        raise Invalid(f"{bound.key} needs {' and '.join(missing)}, which this task does not have; {remedy}.")
    if bound.measure.aggregate == "none":
        raise Invalid(f"{bound.key} has no value for a whole run, so a board cannot show it; leave it out.")
    return bound
