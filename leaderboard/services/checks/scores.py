"""Checks of scores: as they were stored, and, on demand, computed again from the rankings."""

from collections.abc import Iterator, Sequence
from functools import lru_cache

from sqlalchemy import ColumnElement, select, tuple_, union
from sqlalchemy.orm import undefer

from leaderboard.db.engine import Database
from leaderboard.db.tables import Alignment, Evaluation, EvaluationMean, Run
from leaderboard.measures.naming import parse
from leaderboard.services import kinds
from leaderboard.services.checks.damage import DamageCheck
from leaderboard.services.evaluations.damaged import aggregate, damaged_scores, places_of
from leaderboard.services.kinds import Again, Plan
from leaderboard.services.qrels import judged_inputs
from leaderboard.trec.qrels.revision_inputs import RevisionInputs

Key = tuple[int, int, int]
"""Revision, run, dialect: what one alignment and the scores by all measures rest on."""


def _keys(database: Database) -> Sequence[Key]:
    """Those of all stored scores and hits, revision by revision: its judgments are compiled once."""
    _inputs.cache_clear()
    kinds = (select(kind.revision_id, kind.run_id, kind.dialect) for kind in (Evaluation, Alignment))
    with database.read() as session:
        return sorted(tuple(row) for row in session.execute(union(*kinds)))  # type: ignore[misc]


def _stored(database: Database, key: Key) -> Iterator[str]:
    with database.read() as session:
        errors = list(damaged_scores(session, _of(Evaluation, key)))
        yield from (f"{error.facts['what']}: {error.facts['why']}" for error in errors)
        body = session.scalar(select(Alignment.body).where(_of(Alignment, key)))
    if not errors:
        yield from _wrong_means(database, key)
    if body is None:
        return
    inputs = _inputs(database, key[0])
    plan = Plan(key[2], (), False, inputs, revision_id=key[0])
    kinds.judged_by(inputs.kind).open_hits(key[1], plan, body)


def _wrong_means(database: Database, key: Key) -> Iterator[str]:
    """Means whose checksum does not match, or that are not those of the stored scores."""
    rows = (
        select(Evaluation, EvaluationMean)
        .join(EvaluationMean, EvaluationMean.evaluation_id == Evaluation.id)
        .where(_of(Evaluation, key))
        .options(undefer(Evaluation.scores), undefer(Evaluation.parts))
    )
    with database.read() as session:
        for evaluation, mean in session.execute(rows):
            of_it = f"its mean {evaluation.measure} over topic set {mean.topic_set_id}"
            if not mean.is_whole:
                yield f"{of_it}: its checksum does not match"
            elif parse(evaluation.measure).measure.version == evaluation.measure_version:
                places = places_of(session, evaluation.revision_id, mean.topic_set_id)
                made = (mean.mean, mean.topics)
                if not any(aggregate(evaluation, chosen) == made for chosen in places):
                    yield f"{of_it} is not that of its stored scores"


def _computed_again(database: Database, key: Key) -> Iterator[str]:
    revision_id, run_id, dialect = key
    with database.read() as session:
        run = session.get_one(Run, run_id)
    inputs = _inputs(database, revision_id)
    plan = Plan(dialect, (), False, inputs, run.ranking_sha256, revision_id)
    with database.read() as session:
        hits = session.scalar(select(Alignment.body).where(_of(Alignment, key)))
    wrong, again = kinds.judged_by(inputs.kind).again(database, run_id, plan, hits)
    yield from wrong
    yield from _all_differences(database, key, again)


def _all_differences(database: Database, key: Key, again: Again) -> Iterator[str]:
    """Where what is stored of a run is not what its scores are again."""
    wanted = select(Evaluation).where(_of(Evaluation, key))
    with database.read() as session:
        for evaluation in session.scalars(
            wanted.options(undefer(Evaluation.scores), undefer(Evaluation.parts))
        ):
            yield from _differences(evaluation, again)


def _differences(evaluation: Evaluation, again: Again) -> Iterator[str]:
    bound = parse(evaluation.measure)
    if bound.measure.version != evaluation.measure_version:
        # Scores of an earlier version stay as they are; this program cannot compute them.
        return
    scores, parts = again(bound)
    if scores.tobytes() != evaluation.scores.tobytes():
        yield f"its scores by {bound.key} come out differently"
    kept = evaluation.parts
    if (parts is None) != (kept is None) or (
        parts is not None and kept is not None and parts.tobytes() != kept.tobytes()
    ):
        yield f"the parts of its {bound.key} come out differently"


@lru_cache(maxsize=1)
def _inputs(database: Database, revision_id: int) -> RevisionInputs:
    """What the scores under a revision rest on; all keys of one come one after the other."""
    with database.read() as session:
        return judged_inputs.inputs(session, revision_id)


def _of(kind: type[Evaluation] | type[Alignment], key: Key) -> ColumnElement[bool]:
    return tuple_(kind.revision_id, kind.run_id, kind.dialect) == key


CHECKS = (DamageCheck("scores and hits", "revision, run, dialect", _keys, _stored),)
AGAIN = (DamageCheck("scores computed again", "revision, run, dialect", _keys, _computed_again),)
