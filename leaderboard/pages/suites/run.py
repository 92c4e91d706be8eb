"""One suite run: its members' runs, its place; and the form by which runs are sent to a suite."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Run, SuiteRunPart, Task, Team
from leaderboard.errors import NotFound
from leaderboard.pages.suites.board import SuiteChoice, SuitePage, suite_page
from leaderboard.services import policy
from leaderboard.services.phase_rules import KINDS
from leaderboard.services.policy import Viewer
from leaderboard.services.runs.admission import ORGANISERS_KINDS
from leaderboard.services.suites import parts, records
from leaderboard.services.suites.records import KnownSuite
from leaderboard.services.suites.rows import BoardRow
from leaderboard.services.suites.seen import LeftOutMember
from leaderboard.tables.record import Files, Place, Shown, Table, columns_from


@dataclass(frozen=True, slots=True)
class PartRow:
    """A member of a suite and its run there: id and name, what it got, or words in place of that."""

    member: str
    slug: Annotated[str, Shown(key="task")]
    task: str
    run_id: Annotated[int | None, Shown(shown=Place.DATA)]
    run: str
    mean: float | None
    digits: int
    measure: str
    words: str


@dataclass(frozen=True, slots=True)
class OwnRun:
    """A run that a team could give a member."""

    run_id: int
    name: str
    team_id: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SuiteRunPage:
    """A suite run as one viewer sees it; row: its line of the board, None where it has none there.

    lacking: members that it has no run for, with the runs of its team that could be it; for who may change
    it.
    """

    suite: str
    title: str
    id: int
    name: str
    team: str
    kind: str
    row: BoardRow | None
    parts: tuple[PartRow, ...]
    left_out: tuple[LeftOutMember, ...]
    may_change: bool
    is_withdrawn: bool
    lacking: Mapping[str, tuple[OwnRun, ...]]
    ranked: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SendPage:
    """The form by which runs are sent to a suite: the viewer's teams, members, and runs that teams have."""

    suite: str
    title: str
    members: tuple[tuple[str, str, str], ...]
    """Short name, task's slug and name of each."""
    teams: tuple[tuple[int, str], ...]
    kinds: tuple[str, ...]
    runs: Mapping[str, tuple[OwnRun, ...]]
    needs_metadata: bool


def suite_run_page(session: Session, viewer: Viewer, slug: str, suite_run_id: int) -> SuiteRunPage:
    """A suite run; raises NotFound where there is none that the viewer may know of."""
    page = suite_page(session, viewer, slug, SuiteChoice())
    seen = next((run for run in page.runs if run.id == suite_run_id), None)
    try:
        known, own = parts.own_suite_run(session, viewer, slug, suite_run_id)
    except NotFound:
        if seen is None:
            raise NotFound(f"There is no run {suite_run_id} in this suite.") from None
        known, own = records.visible_suite(session, viewer, slug), None
    sent = dict(seen.parts) if seen is not None else {}
    if own is not None:
        sent |= _parts_of(session, known, own.id)
    team = session.get(Team, own.team_id) if own is not None and seen is None else None
    return SuiteRunPage(
        suite=page.suite,
        title=page.title,
        id=suite_run_id,
        name=own.name if own is not None else seen.name if seen else "",
        team=team.name if team is not None else seen.team if seen else "",
        kind=seen.kind if seen is not None else "",
        row=next((row for row in page.board.rows if row.run_id == suite_run_id), None),
        parts=_part_rows(session, known, page, sent),
        left_out=page.left_out,
        may_change=own is not None,
        is_withdrawn=own is not None and own.withdrawn_at is not None,
        lacking=_lacking(session, known, own.team_id, sent) if own is not None else {},
        ranked=sum(row.rank is not None for row in page.board.rows),
    )


def send_page(session: Session, viewer: Viewer, slug: str) -> SendPage:
    """The form that takes runs; raises NotFound, SignInNeeded."""
    policy.require_account(viewer)
    known = records.visible_suite(session, viewer, slug)
    teams = session.execute(
        select(Team.id, Team.name)
        .where(Team.id.in_(viewer.team_ids), Team.merged_into_id.is_(None))
        .order_by(Team.name)
    ).all()
    organises = all(policy.organises(viewer, one.task.id) for one in known.members)
    return SendPage(
        suite=known.suite.slug,
        title=known.suite.title,
        members=tuple((one.member.name, one.task.slug, one.task.name) for one in known.members),
        teams=tuple((team.id, team.name) for team in teams),
        kinds=tuple(kind for kind in KINDS if organises or kind not in ORGANISERS_KINDS),
        runs=_own_runs(session, known, viewer.team_ids),
        needs_metadata=known.suite.metadata_is_required,
    )


def table(page: SuiteRunPage) -> Table[PartRow]:
    """The members and the run of each."""
    return Table(
        f"{page.suite}-run-{page.id}",
        f"The runs of {page.name} in {page.title}.",
        columns_from(PartRow, "member slug run_id run measure mean"),
        page.parts,
    )


def facts(page: SuiteRunPage) -> dict[str, Any]:
    """The suite run as plain values."""
    row = page.row
    return {
        "suite": page.suite,
        "suite_run": page.id,
        "name": page.name,
        "team": page.team,
        "rank": row.rank if row is not None else None,
        "members": table(page).facts(),
    }


FILES: Files[SuiteRunPage] = Files(facts=facts, tables={"members": table})


def _parts_of(session: Session, known: KnownSuite, suite_run_id: int) -> dict[str, int]:
    """Member -> id of the run, of a suite run of the viewer's own."""
    names = {one.member.id: one.member.name for one in known.members}
    rows = session.execute(
        select(SuiteRunPart.member_id, SuiteRunPart.run_id).where(SuiteRunPart.suite_run_id == suite_run_id)
    )
    return {names[member_id]: run_id for member_id, run_id in rows if member_id in names}


def _part_rows(
    session: Session, known: KnownSuite, page: SuitePage, sent: Mapping[str, int]
) -> tuple[PartRow, ...]:
    seen = {one.name: one for one in page.members}
    shown = {**seen, **{name: None for name in sent if name not in seen}}
    runs = session.execute(select(Run.id, Run.name).where(Run.id.in_(sent.values()))).all()
    names = {row.id: row.name for row in runs}
    rows = []
    for one in known.members:
        name = one.member.name
        if name not in shown:
            continue
        member, run_id = seen.get(name), sent.get(name)
        row = member.rows.get(run_id) if member is not None and run_id is not None else None
        scores = member.scores.get(run_id) if member is not None and run_id is not None else None
        rows.append(
            PartRow(
                member=name,
                slug=one.task.slug,
                task=one.task.name,
                run_id=run_id,
                run="" if run_id is None else row.run if row is not None else names[run_id],
                mean=None if scores is None else float(scores.mean()),
                digits=member.measure.measure.digits if member is not None else 4,
                measure=member.measure.key if member is not None else "",
                words=_words(
                    run_id,
                    is_shown=member is not None,
                    has_row=row is not None,
                    has_scores=scores is not None,
                ),
            )
        )
    return tuple(rows)


def _words(run_id: int | None, *, is_shown: bool, has_row: bool, has_scores: bool) -> str:
    """What to say of a member in place of a number."""
    if run_id is None:
        return "no run"
    if not is_shown:
        return "scores held back"
    if not has_row:
        return "not on its board"
    return "" if has_scores else "waits for its scores"


def _lacking(
    session: Session, known: KnownSuite, team_id: int, sent: Mapping[str, int]
) -> dict[str, tuple[OwnRun, ...]]:
    """The members without a run, or whose run was withdrawn, with the team's runs that could be it."""
    gone = set(
        session.scalars(select(Run.id).where(Run.id.in_(sent.values()), Run.withdrawn_at.is_not(None)))
    )
    free = _own_runs(session, known, frozenset({team_id}))
    return {
        name: tuple(run for run in runs if run.run_id != sent.get(name))
        for name, runs in free.items()
        if name not in sent or sent[name] in gone
    }


def _own_runs(session: Session, known: KnownSuite, team_ids: frozenset[int]) -> dict[str, tuple[OwnRun, ...]]:
    """Member -> the runs of teams on its board that are not in the suite yet, by name; one statement."""
    used = select(SuiteRunPart.run_id).where(
        SuiteRunPart.member_id.in_([one.member.id for one in known.members])
    )
    rows = session.execute(
        select(Run.id, Run.name, Run.team_id, Run.task_id)
        .join(Task, Task.id == Run.task_id)
        .where(
            Run.team_id.in_(team_ids),
            Run.task_id.in_([one.task.id for one in known.members]),
            Run.withdrawn_at.is_(None),
            Run.id.not_in(used),
        )
        .order_by(Run.name)
    ).all()
    return {
        one.member.name: tuple(
            OwnRun(row.id, row.name, row.team_id) for row in rows if row.task_id == one.task.id
        )
        for one in known.members
    }
