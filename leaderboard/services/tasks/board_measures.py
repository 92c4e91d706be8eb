"""The measures of a task's board: which ones it can have, and choosing others later."""

from collections.abc import Collection, Sequence

from sqlalchemy.orm import Session

from leaderboard.db.engine import lock_row
from leaderboard.db.tables import Collection as CollectionOfDocuments
from leaderboard.db.tables import Edition, Task
from leaderboard.errors import Conflict, Invalid
from leaderboard.measures.binding import bind
from leaderboard.measures.catalogue.names import examples
from leaderboard.measures.grammar import BoundMeasure, with_level
from leaderboard.measures.naming import kind_of, parse
from leaderboard.measures.registry import NAMES
from leaderboard.services import audit, kinds, policy
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
    """Give the board other measures, or another one to be ranked by, and a new edition of them.

    Raises Conflict where nothing would change.
    """
    task = policy.own_task(session, viewer, slug)
    lock_row(session, Task, task.id)
    if not put(session, task, names, primary):
        raise Conflict("These are the board's measures already; nothing was changed.")
    rebuild(session, task)
    keys, chosen = " ".join(task.measures), task.primary_measure
    audit.record(session, viewer, "task.measures", f"task:{task.id}", measures=keys, primary=chosen)


def put(session: Session, task: Task, names: Sequence[str], primary: str) -> bool:
    """Set the measures of a task, whose row is held; whether they are others now. `rebuild` follows."""
    if not names:
        raise Invalid("A board needs at least one measure.")
    keys, chosen = for_board(names, primary or names[0], task.level, available(session, task))
    if list(keys) == task.measures and chosen == task.primary_measure:
        return False
    task.measures, task.primary_measure = list(keys), chosen
    return True


def rebuild(session: Session, task: Task) -> None:
    """Build a new edition of the task's board, once it has one.

    What is known of a run's scores is taken over, what is not is computed, and the board changes at once
    when all of it is there.
    """
    session.flush()
    revision = files.newest(session, task.id)
    if revision is not None and task.published_at is not None:
        editions.build(session, task, revision)


def at_level(keys: Sequence[str], before: int, after: int) -> list[str]:
    """The keys of measures, those at one relevance level put at another.

    >>> at_level(["AP", "nDCG@10", "P(rel=3)@5"], 1, 2)
    ['AP(rel=2)', 'nDCG@10', 'P(rel=3)@5']
    """
    return [_at_level(parse(key), before, after).key for key in keys]


def _at_level(bound: BoundMeasure, before: int, after: int) -> BoundMeasure:
    if bound.params.get("rel") != before:
        return bound
    others = {name: bound.params[name] for name in bound.given if name != "rel"}
    given = {name: value for name, value in others.items() if value is not None}
    return with_level(bind(bound.measure, given), after)


def available(session: Session, task: Task) -> frozenset[str]:
    """The needs of measures that the task meets, or may meet with judgments that are still to come."""
    if not kinds.of(task.kind).ranks_documents:
        return frozenset({task.kind})
    size = session.get_one(CollectionOfDocuments, task.collection_id).size
    needs = {"graded"} if size is None else {"graded", SIZE}
    revision = files.newest(session, task.id)
    return frozenset(needs | (BESIDE if revision is None else judged_inputs.has(session, revision)))


def offered(name: str, level: int, there: Collection[str]) -> str:
    """The key that a board can have a measure of the catalogue under; empty where it cannot have it."""
    try:
        return _fit(with_level(parse(examples(NAMES[name])[0]), level), there).key
    except Invalid:
        return ""


def lacking(shown: ShownEdition) -> tuple[str, ...]:
    """Why measures of the shown edition have no scores, in sentences; empty where all have what they need."""
    if shown.edition is None or shown.basis is None:
        return ()
    if not all(kinds.judged_by(kind).ranks_documents for kind in shown.kinds):
        return _lacking_of_answers(shown.edition, shown.basis.revision)
    has = judged_inputs.needs_met_by(shown.kinds)
    needs = {measure["key"]: parse(measure["key"]).measure.needs for measure in shown.edition.measures}
    revision = shown.basis.revision
    return tuple(
        f"{key} has no scores: qrels revision {revision} has no {' and no '.join(sorted(missing))}."
        for key, need in needs.items()
        if (missing := (need & BESIDE) - has)
    )


def _lacking_of_answers(edition: Edition, revision: int) -> tuple[str, ...]:
    """Why measures of answers have no scores: the revision has no label of their kind."""
    counted = {topic for topic_set in edition.topic_sets.values() for topic in topic_set["topics"]}
    return tuple(
        f"{measure['key']} has no scores: revision {revision} has no judgments that it is computed from."
        for measure in edition.measures
        if counted and not counted - set(measure["left_out"])
    )


def _fit(bound: BoundMeasure, there: Collection[str]) -> BoundMeasure:
    """The measure itself; raises Invalid where a board cannot have it."""
    of = kind_of(bound.measure)
    takes = next((kind for kind in kinds.KINDS if kind in there), kinds.RANKINGS)
    if of != takes:
        raise Invalid(f"{bound.key} is a measure of {of}, and this task takes {takes}; leave it out.")
    missing = sorted(bound.measure.needs - {"graded"} - set(there))
    if missing:
        remedy = " and ".join(REMEDIES.get(need, "leave it out") for need in missing)
        raise Invalid(f"{bound.key} needs {' and '.join(missing)}, which this task does not have; {remedy}.")
    if bound.measure.aggregate == "none":
        raise Invalid(f"{bound.key} has no value for a whole run, so a board cannot show it; leave it out.")
    return bound
