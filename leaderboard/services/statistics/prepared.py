"""Comparisons that a board needs and a page should not compute, queued before anybody asks for them."""

from sqlalchemy import delete, select, update
from sqlalchemy.orm import Session

from leaderboard.db.engine import lock_key
from leaderboard.db.tables import Edition, Job, QrelsRevision, Run, Statistic, Task
from leaderboard.measures.naming import parse
from leaderboard.services import phase_rules
from leaderboard.services.evaluations import choices, over_topics
from leaderboard.services.evaluations.damaged import whole_editions
from leaderboard.services.evaluations.digests import ranking_key
from leaderboard.services.evaluations.shown import Source, means, scored_runs, source_of
from leaderboard.services.jobs import queue
from leaderboard.services.phase_rules import PhaseRule
from leaderboard.services.statistics import orders, requests
from leaderboard.services.statistics.procedures import coverage, field_leaders
from leaderboard.services.statistics.requests import Request

LEAST_COMPARED = 2
"""Runs and topics from which on a comparison says anything."""


def prepare(session: Session, task_id: int) -> None:
    """Queue the next of what the task's board needs and a page should not compute, once all runs are scored.

    At most one such job of a task waits at a time: the one before gives way, and when one is done it is time
    to call this again.
    """
    session.flush()
    # Of two evaluators that finish the last two runs in one moment, the second sees both done.
    lock_key(session, f"comparisons of task {task_id}")
    edition = session.scalar(select(Edition).where(Edition.task_id == task_id, Edition.state == "current"))
    if edition is None or queue.is_unfinished(session, edition.id):
        return
    wanted = _wanted(session, session.get_one(Task, task_id), edition)
    tried = _tried(session, wanted)
    request = next((each for each in wanted if each.digest not in tried), None)
    _supersede(session, task_id, but=request)
    if request is not None:
        requests.have_computed(session, request, priority=requests.PREPARED)


def refresh(session: Session) -> None:
    """Queue what is wanting of large boards whose leaders are not stored as these boards are now.

    Such are those of a site that an earlier version scored, and those that a date changed.
    """
    rules = phase_rules.rules_of_all(session)
    phases = {task_id: phase_rules.newest(session, of_task) for task_id, of_task in rules.items()}
    editions = {
        row.Edition.task_id: row.Edition
        for row in whole_editions(session, select(Edition).where(Edition.state == "current"))
    }
    states = field_leaders.states(session, phases, {task: of.id for task, of in editions.items()})
    for task_id, state in states.items():
        if state.runs >= field_leaders.LEAST_RUNS:
            edition = editions[task_id]
            revision = session.get_one(QrelsRevision, edition.revision_id)
            source = source_of(edition, revision, phases[task_id].topic_set)
            version = _version(edition)
            if version and not _tried(session, [_leaders_of(edition, source, version, state.text)]):
                prepare(session, task_id)


def _version(edition: Edition) -> int:
    """Of the primary measure; 0 where the edition has no such scores, as one of answers may not."""
    key = edition.primary_measure
    return next((int(each["version"]) for each in edition.measures if each["key"] == key), 0)


def _leaders_of(
    edition: Edition, source: Source, version: int, state: str, run_ids: tuple[int, ...] = ()
) -> Request:
    key = edition.primary_measure
    return requests.of_leaders(over_topics.narrowed(source, edition, key), key, version, state, run_ids)


def prepare_next(session: Session, statistic_id: int) -> None:
    """Queue what the board of the statistic's task needs next."""
    edition_id = session.get_one(Statistic, statistic_id).edition_id
    prepare(session, session.get_one(Edition, edition_id).task_id)


def _wanted(session: Session, task: Task, edition: Edition) -> list[Request]:
    """What the board's pages would wait for: the measure that ranks it comes first."""
    phases = phase_rules.rules_of(session, task)
    phase = phase_rules.newest(session, phases)
    official = (Run.phase_id == phase.id, Run.kind == choices.RANKED_KIND, Run.withdrawn_at.is_(None))
    rows = session.execute(select(Run.id, Run.ranking_sha256).where(*official).order_by(Run.id)).all()
    left_out = choices.not_chosen(session, task)
    runs = [row for row in rows if row.id not in left_out]
    revision = session.get_one(QrelsRevision, edition.revision_id)
    source = source_of(edition, revision, phase.topic_set)
    procedures = [
        (procedure, by)
        for procedure, by in (("pairs", task.comparison), ("reliability", ""))
        if requests.seconds(by or procedure, len(runs), len(source.topics)) > requests.AT_ONCE_S
    ]
    wanted = _of_judges(session, task, edition, phase)
    wanted += _ready(session, (task, edition, phase), source, frozenset(run.id for run in runs))
    first = edition.primary_measure
    for measure in sorted(edition.measures, key=lambda each: each["key"] != first) if procedures else ():
        if requests.refusal(parse(measure["key"]).measure):
            continue
        over = over_topics.narrowed(source, edition, measure["key"])
        scored = scored_runs(session, over, measure["key"], measure["version"])
        if "left_out" in measure:
            scored &= means(session, edition, phase.topic_set, keys=(measure["key"],)).keys()
        chosen = [run for run in runs if run.id in scored]
        if min(len(chosen), len(over.topics)) < LEAST_COMPARED:
            continue
        wanted += [
            Request(
                procedure=procedure,
                method=by,
                source=over,
                measure=measure["key"],
                measure_version=measure["version"],
                run_ids=tuple(run.id for run in chosen),
                rankings=tuple(run.ranking_sha256 for run in chosen),
            )
            for procedure, by in procedures
        ]
    return wanted + orders.needed(session, task.id, source)


def _ready(
    session: Session, board: tuple[Task, Edition, PhaseRule], source: Source, ranked: frozenset[int]
) -> list[Request]:
    """What pages show of a large board and read ready-made: its leaders, how much of its runs is judged."""
    task, edition, phase = board
    version = _version(edition)
    scored = scored_runs(session, source, edition.primary_measure, version)
    wanted = []
    if len(ranked & scored) >= field_leaders.LEAST_RUNS:
        state = field_leaders.states(session, {task.id: phase}, {task.id: edition.id})[task.id]
        run_ids = tuple(sorted(ranked & scored))
        wanted.append(_leaders_of(edition, source, version, state.text, run_ids))
    if len(scored) >= coverage.LEAST_RUNS and task.kind == "rankings":
        facts = select(Run.id, Run.ranking_sha256, Run.order_differs)
        on_board = facts.where(Run.phase_id == phase.id, Run.withdrawn_at.is_(None))
        rankings = {
            row.id: ranking_key(source, *row) for row in session.execute(on_board) if row.id in scored
        }
        cutoffs = dict.fromkeys(coverage.depth(parse(each["key"])) for each in edition.measures)
        wanted += [requests.of_coverage(source, cutoff, rankings) for cutoff in cutoffs]
    return wanted


def _of_judges(session: Session, task: Task, edition: Edition, phase: PhaseRule) -> list[Request]:
    """What holds at least of judges, where their page would wait for it; nothing of other tasks."""
    if task.kind != "judges":
        return []
    from leaderboard.services.judges import bounds, references

    query = select(Run.id, Run.ranking_sha256).where(Run.phase_id == phase.id, Run.withdrawn_at.is_(None))
    runs = {run_id: sha256 for run_id, sha256 in session.execute(query)}
    revision = session.get_one(QrelsRevision, edition.revision_id)
    shape = references.of_revision(session, revision.id).reference.scores.shape
    if not runs or not bounds.is_slow(len(runs), *shape):
        return []
    # Their page is read by organisers, and by others after the close: of all topics.
    return [bounds.request_of(source_of(edition, revision, phase_rules.ALL_TOPICS), runs)]


def _tried(session: Session, wanted: list[Request]) -> set[str]:
    """The digests of those that were computed, are being computed or failed."""
    rows = session.execute(
        select(Statistic.digest)
        .outerjoin(Job, (Job.subject_id == Statistic.id) & (Job.kind == queue.COMPARE))
        .where(
            Statistic.digest.in_([request.digest for request in wanted]),
            Statistic.computed_at.is_not(None) | Job.state.in_(("leased", "failed")),
        )
    )
    return set(rows.scalars())


def _supersede(session: Session, task_id: int, but: Request | None) -> None:
    """Drop what was queued for the task's board as it was before, unless somebody asked for it."""
    of_task = select(Statistic.id).join(Edition, Edition.id == Statistic.edition_id)
    of_task = of_task.where(Edition.task_id == task_id)
    if but is not None:
        of_task = of_task.where(Statistic.digest != but.digest)
    obsolete = (
        update(Job)
        .where(Job.kind == queue.COMPARE, Job.state == "queued", Job.priority == requests.PREPARED)
        .where(Job.subject_id.in_(of_task))
        .values(state="superseded")
        .returning(Job.subject_id)
    )
    dropped = session.execute(obsolete.execution_options(synchronize_session=False)).scalars().all()
    session.execute(delete(Statistic).where(Statistic.id.in_(dropped), Statistic.computed_at.is_(None)))
