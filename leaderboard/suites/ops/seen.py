"""The runs of a suite with their scores in each member, as the members' own boards show them to a viewer.

Nothing is read round the boards: a member whose scores are hidden from the viewer is left out, runs that
are not on a member's board for the viewer are not here, and teams have the names that they have there.
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.boards.ops.rows import Row, read_rows
from leaderboard.core import policy
from leaderboard.core.policy import Viewer
from leaderboard.db.tables import Suite, SuiteMember, SuiteRun, SuiteRunPart, Task
from leaderboard.errors import Forbidden, Invalid, NotFound
from leaderboard.measures.binding import BoundMeasure
from leaderboard.measures.naming import parse
from leaderboard.measures.record import refusal
from leaderboard.memory import Kept
from leaderboard.scoring.ops.evaluations import shown as evaluations_shown
from leaderboard.scoring.ops.evaluations.shown import FloatArray, shown_edition
from leaderboard.scoring.ops.evaluations.shown import scores_of as shown_scores_of
from leaderboard.scoring.ops.scored_topics import RANKED_KIND, column
from leaderboard.stats.suites import MEANS
from leaderboard.suites.ops import rows as suite_rows
from leaderboard.suites.ops.rows import BoardRow, ChangeRow, PairRow, SuiteBoard, SuiteBoardRequest
from leaderboard.trec.suites import GROUPS, Member, SuiteScores, meant
from leaderboard.trec.suites import Suite as SuitesSuite
from leaderboard.trec.suites import SuiteRun as SuitesSuiteRun


@dataclass(frozen=True, slots=True, eq=False)
class MemberTask:
    """A member and its task."""

    member: SuiteMember
    task: Task

    @property
    def groups(self) -> dict[str, str]:
        """Its domain, language and lag, if given."""
        return {key: value for key in GROUPS if (value := getattr(self.member, key))}


@dataclass(frozen=True, slots=True, eq=False)
class KnownSuite:
    """A suite with the members that the viewer may know of, in order; may_change: whether the viewer may."""

    suite: Suite
    members: tuple[MemberTask, ...]
    may_change: bool

    @property
    def names(self) -> tuple[str, ...]:
        """The members' short names."""
        return tuple(member.member.name for member in self.members)


def visible_suite(session: Session, viewer: Viewer, slug: str) -> KnownSuite:
    """The suite with the members visible to the viewer; two statements.

    Raises NotFound if it does not exist, is withdrawn, or has no visible member; Forbidden for a token of
    one task that the suite is not of alone.
    """
    suite = session.scalar(select(Suite).where(Suite.slug == slug))
    known_suite = None if suite is None else _known(session, viewer, suite)
    if known_suite is None:
        raise NotFound(f"There is no suite {slug[:64]!r}.", suite=slug[:64])
    for member in known_suite.members:
        policy.require_bound(viewer, member.task)
    return known_suite


def own_suite(session: Session, viewer: Viewer, slug: str) -> KnownSuite:
    """A suite that the viewer may change; raises as `visible_suite`, SignInNeeded and Forbidden."""
    known_suite = visible_suite(session, viewer, slug)
    if known_suite.may_change:
        return known_suite
    policy.require_account(viewer)
    policy.require_second_factor(viewer)
    raise Forbidden("Only operators and accounts that organise all tasks of the suite can do this.")


def visible_suites(session: Session, viewer: Viewer) -> list[KnownSuite]:
    """The suites that the viewer may know of, by title; two statements."""
    suites = session.scalars(select(Suite)).all()
    members = _members(session, viewer, [suite.id for suite in suites]) if suites else {}
    known_suites = [_as_known(viewer, suite, *members.get(suite.id, ((), True))) for suite in suites]
    return sorted(
        (known_suite for known_suite in known_suites if known_suite is not None),
        key=lambda known_suite: (known_suite.suite.title, known_suite.suite.slug),
    )


def suites_on_site(session: Session, viewer: Viewer) -> list[Suite]:
    """Those that the viewer may know of and that are not withdrawn, by title; two statements."""
    return [
        known_suite.suite
        for known_suite in visible_suites(session, viewer)
        if known_suite.suite.withdrawn_at is None
    ]


def suites_of_task(session: Session, task_id: int) -> list[Suite]:
    """The suites that contain a task visible to the viewer; one statement."""
    of_task = select(SuiteMember.suite_id).where(
        SuiteMember.task_id == task_id, SuiteMember.position.is_not(None)
    )
    on_site = select(Suite).where(Suite.id.in_(of_task), Suite.withdrawn_at.is_(None))
    return list(session.scalars(on_site.order_by(Suite.title)))


def looks_after(viewer: Viewer, tasks: Sequence[Task]) -> bool:
    """Whether the viewer can change a suite of these tasks, by organising all of them."""
    if viewer.is_operator or viewer.operates:
        return True
    return bool(tasks) and all(policy.organises(viewer, task.id) for task in tasks)


def _known(session: Session, viewer: Viewer, suite: Suite) -> KnownSuite | None:
    return _as_known(viewer, suite, *_members(session, viewer, [suite.id]).get(suite.id, ((), True)))


def _as_known(
    viewer: Viewer, suite: Suite, members: Sequence[MemberTask], is_whole: bool
) -> KnownSuite | None:
    tasks = [member.task for member in members]
    may_change = looks_after(viewer, tasks) and (is_whole or viewer.is_operator or viewer.operates)
    if not may_change and (suite.withdrawn_at is not None or not members):
        return None
    return KnownSuite(suite, tuple(members), may_change)


def _members(
    session: Session, viewer: Viewer, suite_ids: Sequence[int]
) -> dict[int, tuple[list[MemberTask], bool]]:
    """Suite id -> its members that the viewer may know of, and whether these are all."""
    rows = session.execute(
        select(SuiteMember, Task)
        .join(Task, Task.id == SuiteMember.task_id)
        .where(SuiteMember.suite_id.in_(suite_ids), SuiteMember.position.is_not(None))
        .order_by(SuiteMember.position, SuiteMember.id)
    ).all()
    by_suite: dict[int, tuple[list[MemberTask], bool]] = {}
    for member, task in rows:
        seen, is_whole = by_suite.get(member.suite_id, ([], True))
        is_known = task.published_at is not None or policy.knows(viewer, task.id)
        by_suite[member.suite_id] = (
            [*seen, MemberTask(member, task)] if is_known else seen,
            is_whole and is_known,
        )
    return by_suite


MASKED = "Its board hides team names that other members show, so combining them would reveal the names."


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
    """A suite run: team, kind, and by member its run id and scores.

    missing: members without a run; waiting: members whose run has no score yet.
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


def seen_suite(session: Session, viewer: Viewer, known_suite: KnownSuite) -> SeenSuite:
    """The runs of a suite as the viewer sees them; a number of statements for each member, not for runs."""
    viewer = replace(viewer, phase="", edition=None)
    suite_runs, parts = _sent(session, known_suite)
    members: list[SeenMember] = []
    left_out: list[LeftOutMember] = []
    for member in known_suite.members:
        run_ids = {
            run_id for by_member in parts.values() for run_id in (by_member.get(member.member.id),) if run_id
        }
        seen = _member(session, viewer, member, run_ids)
        (left_out if isinstance(seen, LeftOutMember) else members).append(seen)  # type: ignore[arg-type]
    members, masked = _without_masked(members)
    ids = {member_task.member.name: member_task.member.id for member_task in known_suite.members}
    runs = [
        run
        for sent in suite_runs
        if (
            run := _run(
                viewer, sent, members, {name: parts[sent.id].get(at) for name, at in ids.items()}, known_suite
            )
        )
    ]
    order = {member_task.member.name: place for place, member_task in enumerate(known_suite.members)}
    return SeenSuite(
        members=tuple(members),
        left_out=tuple(sorted((*left_out, *masked), key=lambda member: order[member.name])),
        runs=tuple(runs),
        sha256=_digest(known_suite, members, runs),
    )


def _sent(
    session: Session, known_suite: KnownSuite
) -> tuple[Sequence[SuiteRun], Mapping[int, Mapping[int, int]]]:
    """The suite runs that are not withdrawn, and by their ids member id -> run id; two statements."""
    of_suite = SuiteRun.suite_id == known_suite.suite.id, SuiteRun.withdrawn_at.is_(None)
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
    session: Session, viewer: Viewer, member_task: MemberTask, run_ids: Iterable[int]
) -> SeenMember | LeftOutMember:
    task, name = member_task.task, member_task.member.name

    def left_out(why: str) -> LeftOutMember:
        return LeftOutMember(name, task.slug, task.name, why)

    access = policy.access_of(session, viewer, task)
    if not access.details:
        return left_out(access.why or "Its scores by topic are hidden.")
    shown = shown_edition(session, task, access)
    if shown.edition is None or shown.source is None:
        return left_out("It has no board yet.")
    key = member_task.member.measure or shown.edition.primary_measure
    bound = parse(key)
    if key not in {measure["key"] for measure in shown.edition.measures}:
        return left_out(f"Its board has no {key}.")
    if why := refusal(bound.measure):
        return left_out(why)
    source = evaluations_shown.narrowed(shown.source, shown.edition, key)
    if not source.topics:
        return left_out("It has no scored topics.")
    run_ids = set(run_ids)
    rows = read_rows(session, viewer, task, access, shown.edition, (column(bound),))
    chosen = {row.run_id: row for row in rows if row.run_id in run_ids}
    scores = shown_scores_of(session, source, key, bound.measure.version, chosen.keys()) if chosen else {}
    return SeenMember(name, task.slug, task.name, member_task.groups, bound, source.topics, chosen, scores)


def _without_masked(members: list[SeenMember]) -> tuple[list[SeenMember], list[LeftOutMember]]:
    """Members by the names of teams: those that mask some are left out where others mask none."""
    masked = [member for member in members if any(row.masked for row in member.rows.values())]
    if not masked or len(masked) == len([seen_member for seen_member in members if seen_member.rows]):
        return members, []
    kept = [member for member in members if member not in masked]
    return kept, [LeftOutMember(member.name, member.slug, member.task, MASKED) for member in masked]


def _run(
    viewer: Viewer,
    sent: SuiteRun,
    members: Sequence[SeenMember],
    parts: Mapping[str, int | None],
    known_suite: KnownSuite,
) -> SeenRun | None:
    """A suite run as shown by the members' boards; None if none shows it."""
    rows = {
        member.name: member.rows[run_id]
        for member in members
        if (run_id := parts[member.name]) and run_id in member.rows
    }
    if any(not row.masked for row in rows.values()):
        rows = {name: row for name, row in rows.items() if not row.masked}
    if not rows:
        return None
    first = next(iter(rows.values()))
    scores = {
        seen_member.name: seen_member.scores[rows[seen_member.name].run_id]
        for seen_member in members
        if seen_member.name in rows and rows[seen_member.name].run_id in seen_member.scores
    }
    hidden = {member.name for member in members if parts[member.name] and member.name not in rows}
    missing = tuple(member.name for member in members if not parts[member.name])
    if known_suite.suite.missing_is_empty:
        scores |= {member.name: _empty(member) for member in members if member.name in missing}
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
        missing=(*missing, *(member.name for member in members if member.name in hidden)),
        waiting=tuple(name for name in rows if name not in scores),
    )


def _empty(member: SeenMember) -> FloatArray:
    """The score of an empty run by a measure where higher is better."""
    return np.full(len(member.topics), member.measure.measure.range[0], dtype=np.float64)


def _digest(known_suite: KnownSuite, members: Sequence[SeenMember], runs: Sequence[SeenRun]) -> str:
    suite = known_suite.suite
    digest = hashlib.sha256(
        repr(
            (
                (suite.title, suite.reference, suite.baseline, suite.macro, suite.shared_topics),
                suite.missing_is_empty,
                [
                    (
                        member.name,
                        sorted(member.groups.items()),
                        member.measure.key,
                        member.measure.measure.version,
                        member.topics,
                    )
                    for member in members
                ],
                [(run.id, run.name, run.is_ranked, run.missing, sorted(run.scores)) for run in runs],
            )
        ).encode()
    )
    for run in runs:
        for name in sorted(run.scores):
            digest.update(run.scores[name].tobytes())
    return digest.hexdigest()


# A board of 100 runs over 18 members takes part of a second, mostly its pairs, and never changes.
_kept: "Kept[KeptBoard]" = Kept(__name__)


@dataclass(slots=True, eq=False)
class KeptBoard:
    """The ranked runs' board and the rows of all runs; changes and pairs once requested.

    of is None if no run is ranked.
    """

    of: SuiteBoard | None
    all: SuiteBoard | None
    rows: tuple[BoardRow, ...]
    _changes: list[ChangeRow] | None = None
    _pairs: list[PairRow] | None = None

    @property
    def changes(self) -> list[ChangeRow]:
        """The changes of all runs from the reference."""
        if self._changes is None:
            self._changes = [] if self.all is None else suite_rows.change_rows(self.all)
        return self._changes

    @property
    def pairs(self) -> list[PairRow]:
        """All pairs of ranked runs that have all members."""
        if self._pairs is None:
            self._pairs = [] if self.of is None else suite_rows.pair_rows(self.of)
        return self._pairs


def kept_board(known_suite: KnownSuite, seen: SeenSuite, asked: SuiteBoardRequest) -> KeptBoard:
    """The board of the visible part of a suite; raises Invalid as `rows.suite_board` does."""
    key = (seen.sha256, asked)
    return _kept.get(key) or _kept.put(key, _made(known_suite, seen, asked))


def _made(known_suite: KnownSuite, seen: SeenSuite, asked: SuiteBoardRequest) -> KeptBoard:
    ordered = sorted(seen.runs, key=lambda run: not run.is_ranked)
    ranked = [run for run in ordered if run.is_ranked]
    if asked.baseline and asked.baseline not in {run.name for run in ordered}:
        names = tuple(run.name for run in ordered)
        raise Invalid(f"{asked.baseline[:64]} is not one of the runs. {meant(asked.baseline, names)}")
    if not seen.members or not ordered:
        return KeptBoard(None, None, ())
    everything = scores_of(known_suite, seen, ordered)
    whole = suite_rows.suite_board(everything, replace(asked, by="mean", drawn="topics", baseline=""))
    whole = replace(whole, asked=asked)
    if not ranked:
        return KeptBoard(None, whole, tuple(_without_rank(row) for row in _rows(whole, ordered)))
    of = suite_rows.suite_board(scores_of(known_suite, seen, ranked), replace(asked, baseline=""))
    of = replace(of, asked=asked)
    others = [row for row in _rows(whole, ordered) if row.run_id not in {run.id for run in ranked}]
    order = (*of.order, *(place for place in whole.order if place >= len(ranked)))
    return KeptBoard(
        of, replace(whole, order=order), (*_rows(of, ranked), *(_without_rank(row) for row in others))
    )


def scores_of(known_suite: KnownSuite, seen: SeenSuite, runs: Sequence[SeenRun]) -> SuiteScores:
    """The visible scores of a suite, in the format of boards built from files."""
    names = {member.name for member in seen.members}
    suite = known_suite.suite
    grouped = all(suite.macro in seen_member.groups for seen_member in seen.members)
    return SuiteScores(
        suite=SuitesSuite(
            name=suite.title,
            members=tuple(
                Member(member.name, None, member.measure.key, member.groups) for member in seen.members
            ),
            reference=suite.reference if suite.reference in names else "",
            baseline=suite.baseline,
            macro=suite.macro if suite.macro in GROUPS and grouped else "",
            shared_topics=suite.shared_topics,
            missing_is_empty=suite.missing_is_empty,
            metadata_is_required=suite.metadata_is_required,
        ),
        runs=tuple(SuitesSuiteRun(run.name, dict(run.scores), run.missing) for run in runs),
        measures={member.name: member.measure for member in seen.members},
        topics={member.name: member.topics for member in seen.members},
        notes=(),
    )


def _rows(of: SuiteBoard, runs: Sequence[SeenRun]) -> list[BoardRow]:
    """The rows of a board, best first, with whose runs they are."""
    return [
        replace(row, run_id=run.id, team=run.team, kind=run.kind, is_own=run.is_own)
        for row, run in zip(suite_rows.board_rows(of), (runs[place] for place in of.order), strict=True)
    ]


def _without_rank(row: BoardRow) -> BoardRow:
    """A run without a rank: its means only, as points and ranks are among those that do."""
    values = {name: value if name in MEANS else None for name, value in row.values.items()}
    return replace(row, rank=None, low=None, high=None, may_be_best=False, values=values)
