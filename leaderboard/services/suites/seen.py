"""The runs of a suite with their scores in each member, as the members' own boards show them to a viewer.

Nothing is read round the boards: a member whose scores are held back from the viewer is left out, runs that
are not on a member's board for the viewer are not here, and teams have the names that they have there.
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.tables import SuiteRun, SuiteRunPart
from leaderboard.measures.binding import BoundMeasure
from leaderboard.measures.naming import parse
from leaderboard.services import policy
from leaderboard.services.boards.rows import Row, read_rows
from leaderboard.services.evaluations import over_topics
from leaderboard.services.evaluations.choices import RANKED_KIND
from leaderboard.services.evaluations.columns import column
from leaderboard.services.evaluations.shown import FloatArray, scores_of, shown_edition
from leaderboard.services.policy import Viewer
from leaderboard.services.statistics.requests import refusal
from leaderboard.services.suites.records import KnownSuite, MemberTask

MASKED = "Its board masks the names of teams, which other members show; both together would tell them."


@dataclass(frozen=True, slots=True, eq=False)
class SeenMember:
    """A member whose scores by topic the viewer sees: rows and scores, (topics,), by run id."""

    name: str
    slug: str
    task: str
    groups: Mapping[str, str]
    measure: BoundMeasure
    topics: tuple[str, ...]
    rows: Mapping[int, Row]
    scores: Mapping[int, FloatArray]


@dataclass(frozen=True, slots=True)
class LeftOutMember:
    """A member that does not count for the viewer, and why."""

    name: str
    slug: str
    task: str
    why: str


@dataclass(frozen=True, slots=True, eq=False)
class SeenRun:
    """A suite run: whose, of which kind; by member the id of its run and its scores.

    missing: members that it has no run for; waiting: those whose run has no score yet.
    """

    id: int
    name: str
    team: str
    team_id: int
    kind: str
    is_ranked: bool
    is_own: bool
    parts: Mapping[str, int]
    scores: Mapping[str, FloatArray]
    missing: tuple[str, ...]
    waiting: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class SeenSuite:
    """All that a viewer sees of a suite's scores; sha256: of everything that its statistics depend on."""

    members: tuple[SeenMember, ...]
    left_out: tuple[LeftOutMember, ...]
    runs: tuple[SeenRun, ...]
    sha256: str


def seen_suite(session: Session, viewer: Viewer, known: KnownSuite) -> SeenSuite:
    """The runs of a suite as the viewer sees them; a number of statements for each member, not for runs."""
    viewer = replace(viewer, phase="", edition=None)
    suite_runs, parts = _sent(session, known)
    members: list[SeenMember] = []
    left_out: list[LeftOutMember] = []
    for one in known.members:
        wanted = {
            run_id for by_member in parts.values() for run_id in (by_member.get(one.member.id),) if run_id
        }
        seen = _member(session, viewer, one, wanted)
        (left_out if isinstance(seen, LeftOutMember) else members).append(seen)  # type: ignore[arg-type]
    members, masked = _without_masked(members)
    ids = {one.member.name: one.member.id for one in known.members}
    runs = [
        run
        for sent in suite_runs
        if (
            run := _run(
                viewer, sent, members, {name: parts[sent.id].get(at) for name, at in ids.items()}, known
            )
        )
    ]
    order = {one.member.name: place for place, one in enumerate(known.members)}
    return SeenSuite(
        members=tuple(members),
        left_out=tuple(sorted((*left_out, *masked), key=lambda one: order[one.name])),
        runs=tuple(runs),
        sha256=_digest(known, members, runs),
    )


def _sent(session: Session, known: KnownSuite) -> tuple[Sequence[SuiteRun], Mapping[int, Mapping[int, int]]]:
    """The suite runs that stand, and by their ids member id -> run id; two statements."""
    of_suite = SuiteRun.suite_id == known.suite.id, SuiteRun.withdrawn_at.is_(None)
    runs = session.scalars(select(SuiteRun).where(*of_suite).order_by(SuiteRun.id)).all()
    rows = session.execute(
        select(SuiteRunPart.suite_run_id, SuiteRunPart.member_id, SuiteRunPart.run_id)
        .join(SuiteRun, SuiteRun.id == SuiteRunPart.suite_run_id)
        .where(*of_suite)
    )
    parts: defaultdict[int, dict[int, int]] = defaultdict(dict)
    for suite_run_id, member_id, run_id in rows:
        parts[suite_run_id][member_id] = run_id
    return runs, parts


def _member(
    session: Session, viewer: Viewer, one: MemberTask, wanted: Iterable[int]
) -> SeenMember | LeftOutMember:
    task, name = one.task, one.member.name

    def left_out(why: str) -> LeftOutMember:
        return LeftOutMember(name, task.slug, task.name, why)

    sight = policy.sight_of(session, viewer, task)
    if not sight.details:
        return left_out(sight.why or "Its scores by topic are held back.")
    shown = shown_edition(session, task, sight)
    if shown.edition is None or shown.source is None:
        return left_out("It has no board yet.")
    key = one.member.measure or shown.edition.primary_measure
    bound = parse(key)
    if key not in {measure["key"] for measure in shown.edition.measures}:
        return left_out(f"Its board has no {key}.")
    if why := refusal(bound.measure):
        return left_out(why)
    source = over_topics.narrowed(shown.source, shown.edition, key)
    if not source.topics:
        return left_out("It has no topic that counts.")
    wanted = set(wanted)
    rows = read_rows(session, viewer, task, sight, shown.edition, (column(bound),))
    chosen = {row.run_id: row for row in rows if row.run_id in wanted}
    scores = scores_of(session, source, key, bound.measure.version, chosen.keys()) if chosen else {}
    return SeenMember(name, task.slug, task.name, one.groups, bound, source.topics, chosen, scores)


def _without_masked(members: list[SeenMember]) -> tuple[list[SeenMember], list[LeftOutMember]]:
    """Members by the names of teams: those that mask some are left out where others mask none."""
    masked = [one for one in members if any(row.masked for row in one.rows.values())]
    if not masked or len(masked) == len([one for one in members if one.rows]):
        return members, []
    kept = [one for one in members if one not in masked]
    return kept, [LeftOutMember(one.name, one.slug, one.task, MASKED) for one in masked]


def _run(
    viewer: Viewer,
    sent: SuiteRun,
    members: Sequence[SeenMember],
    parts: Mapping[str, int | None],
    known: KnownSuite,
) -> SeenRun | None:
    """A suite run as far as the members' boards show it; None where none does."""
    rows = {
        one.name: one.rows[run_id] for one in members if (run_id := parts[one.name]) and run_id in one.rows
    }
    if any(not row.masked for row in rows.values()):
        rows = {name: row for name, row in rows.items() if not row.masked}
    if not rows:
        return None
    first = next(iter(rows.values()))
    scores = {
        one.name: one.scores[rows[one.name].run_id]
        for one in members
        if one.name in rows and rows[one.name].run_id in one.scores
    }
    hidden = {one.name for one in members if parts[one.name] and one.name not in rows}
    missing = tuple(one.name for one in members if not parts[one.name])
    if known.suite.missing_is_empty:
        scores |= {one.name: _empty(one) for one in members if one.name in missing}
    kinds = {row.kind for row in rows.values()}
    return SeenRun(
        id=sent.id,
        name=first.run if first.masked else sent.name,
        team=first.team,
        team_id=sent.team_id,
        kind=RANKED_KIND
        if kinds == {RANKED_KIND}
        else next(kind for kind in (first.kind, *kinds) if kind != RANKED_KIND),
        is_ranked=kinds == {RANKED_KIND} and all(row.is_ranked for row in rows.values()),
        is_own=policy.owns(viewer, sent.team_id),
        parts={name: row.run_id for name, row in rows.items()},
        scores=scores,
        missing=(*missing, *(one.name for one in members if one.name in hidden)),
        waiting=tuple(name for name in rows if name not in scores),
    )


def _empty(member: SeenMember) -> FloatArray:
    """What a run without any entry gets, of a measure of which higher is better."""
    return np.full(len(member.topics), member.measure.measure.range[0], dtype=np.float64)


def _digest(known: KnownSuite, members: Sequence[SeenMember], runs: Sequence[SeenRun]) -> str:
    suite = known.suite
    digest = hashlib.sha256(
        repr(
            (
                (suite.title, suite.reference, suite.baseline, suite.macro, suite.shared_topics),
                suite.missing_is_empty,
                [
                    (
                        one.name,
                        sorted(one.groups.items()),
                        one.measure.key,
                        one.measure.measure.version,
                        one.topics,
                    )
                    for one in members
                ],
                [(run.id, run.name, run.is_ranked, run.missing, sorted(run.scores)) for run in runs],
            )
        ).encode()
    )
    for run in runs:
        for name in sorted(run.scores):
            digest.update(run.scores[name].tobytes())
    return digest.hexdigest()
