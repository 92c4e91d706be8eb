"""Scores as a viewer reads them: rounded, and on a blind task that asks for it by the Ladder."""

from collections.abc import Collection, Mapping, Sequence

from sqlalchemy import ColumnElement, and_, or_, select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Edition, Evaluation, EvaluationMean, Run
from leaderboard.services.evaluations import judged_topics
from leaderboard.services.evaluations.columns import column_of
from leaderboard.services.evaluations.damaged import MEANS, whole_means
from leaderboard.services.evaluations.shown import means, means_of_all
from leaderboard.services.policy import Sight

Scores = Mapping[int, Mapping[str, float]]
ROUNDING = 1e-12
"""What sums of floats may be off by: an improvement by the step itself is none."""


def ladder(scores: Sequence[float], step: float, sign: int = 1) -> list[float]:
    """What a team is told of its runs' scores, in order of arrival: its best so far, in whole steps.

    The Ladder of Blum and Hardt (2015, algorithm 1): a score is told only if it improves on the team's best
    that was told by more than the step; else the team is told the same as before. Theirs compares with the
    rounded best; here it is the score itself, so that one topic, which moves a mean by no more than the
    step, is never told whatever the rounding. sign is -1 where lower is better.

    >>> ladder([0.413, 0.42, 0.434, 0.2], 0.02)
    [0.42, 0.42, 0.44, 0.44]
    """
    best, told, answers = None, 0.0, []
    for score in scores:
        if best is None or sign * (score - best) > step + ROUNDING:
            best, told = score, round(score / step) * step
        answers.append(round(told, 12))
    return answers


def seen_means(
    session: Session,
    edition: Edition,
    sight: Sight,
    run_ids: Collection[int] | None = None,
    keys: Collection[str] | None = None,
) -> dict[int, dict[str, float]]:
    """Run id -> measure -> aggregate, as the sight shows it; two statements at most.

    Rounded before anything is ordered by it, so that order tells no more. run_ids and keys leave out other
    runs and measures; what a team is told of one run depends on all it sent before, withdrawn ones too.
    """
    if sight.step is None:
        return _rounded(means(session, edition, sight.topic_set, run_ids, keys), sight.decimals)
    scores = means(session, edition, sight.topic_set, keys=keys)
    teams = session.execute(select(Run.id, Run.team_id).where(Run.task_id == edition.task_id))
    told = _rounded(
        _told(edition, scores, sight.step, {row.id: row.team_id for row in teams}), sight.decimals
    )
    return told if run_ids is None else {run_id: told[run_id] for run_id in run_ids if run_id in told}


def seen_means_of_both(
    session: Session, edition: Edition, before: Edition, key: str, sight: Sight
) -> tuple[dict[int, dict[str, float]], dict[int, dict[str, float]]]:
    """As `seen_means` of two editions, of the earlier one by one measure; one statement where all is told."""
    if sight.step is not None:
        return seen_means(session, edition, sight), seen_means(session, before, sight, keys=(key,))
    now, then = means_of_all(session, [(edition, None), (before, (key,))], sight.topic_set)
    return _rounded(now, sight.decimals), _rounded(then, sight.decimals)


def primary_scores(
    session: Session, shown: Sequence[tuple[Edition, Sight]], team_of: Mapping[int, int]
) -> dict[int, float]:
    """Run id -> what it got by the primary measure of its task's edition, as each sight shows it.

    One statement for editions of any number of tasks; team_of has the team of every run of theirs.
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
        seen = _told(edition, scores, sight.step, team_of) if sight.step is not None else scores
        told = _rounded(seen, sight.decimals).items()
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


def _told(
    edition: Edition, scores: Scores, step: float, team_of: Mapping[int, int]
) -> dict[int, dict[str, float]]:
    """The scores by the Ladder of each team and measure; a measure without better and worse is not told."""
    teams: dict[int, list[int]] = {}
    for run_id in sorted(scores):
        teams.setdefault(team_of[run_id], []).append(run_id)
    columns = [column_of(measure["key"]) for measure in edition.measures]
    told: dict[int, dict[str, float]] = {run_id: {} for run_id in scores}
    for column in columns:
        if column.direction == "none":
            continue
        for own in teams.values():
            scored = [run_id for run_id in own if column.key in scores[run_id]]
            answers = ladder([scores[run_id][column.key] for run_id in scored], step, column.sign)
            for run_id, answer in zip(scored, answers, strict=True):
                told[run_id][column.key] = answer
    return told


def _rounded(scores: Scores, decimals: int | None) -> dict[int, dict[str, float]]:
    if decimals is None:
        return {run_id: dict(of_run) for run_id, of_run in scores.items()}
    return {
        run_id: {key: round(value, decimals) for key, value in of_run.items()}
        for run_id, of_run in scores.items()
    }
