"""Scores as a viewer reads them: rounded where a task is blind."""

from collections.abc import Collection, Sequence

from sqlalchemy import ColumnElement, and_, or_, select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Edition, Evaluation, EvaluationMean
from leaderboard.services.evaluations import judged_topics
from leaderboard.services.evaluations.damaged import MEANS, whole_means
from leaderboard.services.evaluations.shown import means, means_of_all
from leaderboard.services.policy import Sight


def seen_means(
    session: Session,
    edition: Edition,
    sight: Sight,
    run_ids: Collection[int] | None = None,
    keys: Collection[str] | None = None,
) -> dict[int, dict[str, float]]:
    """Run id -> measure -> aggregate, as the sight shows it; one statement.

    Rounded before anything is ordered by it, so that order tells no more. run_ids and keys leave out other
    runs and measures.
    """
    return _rounded(means(session, edition, sight.topic_set, run_ids, keys), sight.decimals)


def seen_means_of_both(
    session: Session, edition: Edition, before: Edition, key: str, sight: Sight
) -> tuple[dict[int, dict[str, float]], dict[int, dict[str, float]]]:
    """As `seen_means` of two editions, of the earlier one by one measure; one statement."""
    now, then = means_of_all(session, [(edition, None), (before, (key,))], sight.topic_set)
    return _rounded(now, sight.decimals), _rounded(then, sight.decimals)


def primary_scores(session: Session, shown: Sequence[tuple[Edition, Sight]]) -> dict[int, float]:
    """Run id -> what it got by the primary measure of its task's edition, as each sight shows it.

    One statement for editions of any number of tasks.
    """
    sets = [
        (edition, edition.topic_sets[sight.topic_set]["id"])
        for edition, sight in shown
        if sight.topic_set in edition.topic_sets
    ]
    if not sets:
        return {}
    rows = session.execute(
        select(*MEANS)
        .join(EvaluationMean, EvaluationMean.evaluation_id == Evaluation.id)
        .where(or_(*(_of_primary(edition) & (EvaluationMean.topic_set_id == of) for edition, of in sets)))
    ).all()
    means_of_rows = list(whole_means(session, rows))
    primary: dict[int, float] = {}
    for edition, sight in shown:
        key = edition.primary_measure
        needed = judged_topics.needed(edition, sight.topic_set)
        scores = {
            row.run_id: {key: mean}
            for row, mean, topics in means_of_rows
            if row.revision_id == edition.revision_id and judged_topics.is_whole(needed, key, topics)
        }
        told = _rounded(scores, sight.decimals).items()
        primary |= {run_id: of_run[key] for run_id, of_run in told if key in of_run}
    return primary


def _of_primary(edition: Edition) -> ColumnElement[bool]:
    key = edition.primary_measure
    version = next(measure["version"] for measure in edition.measures if measure["key"] == key)
    return and_(
        Evaluation.revision_id == edition.revision_id,
        Evaluation.dialect == edition.dialect,
        Evaluation.measure == key,
        Evaluation.measure_version == version,
    )


def _rounded(scores: dict[int, dict[str, float]], decimals: int | None) -> dict[int, dict[str, float]]:
    if decimals is None:
        return {run_id: dict(of_run) for run_id, of_run in scores.items()}
    return {
        run_id: {key: round(value, decimals) for key, value in of_run.items()}
        for run_id, of_run in scores.items()
    }
