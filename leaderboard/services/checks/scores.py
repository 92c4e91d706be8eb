"""Checks of scores: as they were stored, and, on demand, computed again from the rankings."""

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

from sqlalchemy import ColumnElement, select, tuple_, union
from sqlalchemy.orm import undefer

from leaderboard.db.engine import Database
from leaderboard.db.tables import Alignment, Evaluation, EvaluationMean, Run
from leaderboard.measures.binding import BoundMeasure
from leaderboard.measures.judged import FloatArray, Judged
from leaderboard.measures.naming import parse
from leaderboard.services.checks.damage import DamageCheck
from leaderboard.services.evaluations.damaged import aggregate, damaged_scores, places_of
from leaderboard.services.evaluations.plans import Plan
from leaderboard.services.judges import scoring as of_judges
from leaderboard.services.judges import store
from leaderboard.services.nuggets import scoring as of_answers
from leaderboard.services.qrels import judged_inputs
from leaderboard.services.rankings.blocks import whole_blocks
from leaderboard.trec.qrels.align import Aligner, CompiledJudgments
from leaderboard.trec.qrels.packed_hits import pack_hits, unpack_hits
from leaderboard.trec.qrels.revision_inputs import RevisionInputs, compiled_inputs

Again = Callable[[BoundMeasure], tuple[FloatArray, FloatArray | None]]
"""Scores by a measure computed anew, and the parts of their aggregate."""
Key = tuple[int, int, int]
"""Revision, run, dialect: what one alignment and the scores by all measures rest on."""


def _keys(database: Database) -> Sequence[Key]:
    """Those of all stored scores and hits, revision by revision: its judgments are compiled once."""
    _compiled.cache_clear()
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
    if _inputs(database, key[0]).is_board:
        store.opened(key[1], body)
    else:
        _hits(database, key, body)


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
    if not inputs.are_of_documents:
        plan = Plan(dialect, (), False, inputs, run.ranking_sha256, revision_id)
        with database.read() as session:
            body = session.scalar(select(Alignment.body).where(_of(Alignment, key)))
        if body is not None and inputs.is_board:
            yield from of_judges.differing(database, run_id, plan, body)
        again = of_judges.again if inputs.is_board else of_answers.again
        yield from _all_differences(database, key, again(database, run_id, plan))
        return
    aligner = Aligner(_compiled(database, revision_id), dialect=dialect)
    for block in whole_blocks(database, run_id, run.ranking_sha256):
        aligner.add(block)
    judged = aligner.judged()
    with database.read() as session:
        body = session.scalar(select(Alignment.body).where(_of(Alignment, key)))
        if body is not None and pack_hits(judged) != pack_hits(_hits(database, key, body)):
            yield "its judged hits come out differently"
    yield from _all_differences(database, key, lambda bound: (bound.compute(judged), bound.parts(judged)))


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


def _hits(database: Database, key: Key, body: bytes) -> Judged:
    return unpack_hits(body, _compiled(database, key[0]).judgments, key[2])


@lru_cache(maxsize=1)
def _compiled(database: Database, revision_id: int) -> CompiledJudgments:
    """A revision's judgments; all keys of one come one after the other."""
    return compiled_inputs(_inputs(database, revision_id))


@lru_cache(maxsize=1)
def _inputs(database: Database, revision_id: int) -> RevisionInputs:
    """What the scores under a revision rest on; all keys of one come one after the other."""
    with database.read() as session:
        return judged_inputs.inputs(session, revision_id)


def _of(kind: type[Evaluation] | type[Alignment], key: Key) -> ColumnElement[bool]:
    return tuple_(kind.revision_id, kind.run_id, kind.dialect) == key


CHECKS = (DamageCheck("scores and hits", "revision, run, dialect", _keys, _stored),)
AGAIN = (DamageCheck("scores computed again", "revision, run, dialect", _keys, _computed_again),)
