"""Pages of suites.

Reading asks each member's board in turn: a suite of 18 members takes more than a hundred statements, so the
result is cached until the site changes. Two viewers share the cache if neither is in a team of the suite or
has a role in its tasks.
"""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Annotated, Any
from weakref import WeakKeyDictionary

from sqlalchemy import Engine, select
from sqlalchemy.orm import Session

from leaderboard.core import phase_rules, policy
from leaderboard.core.phase_rules import KINDS
from leaderboard.core.policy import Viewer
from leaderboard.core.slots import Part
from leaderboard.db.engine import SiteVersion
from leaderboard.db.tables import Run, SuiteRunPart, Task, Team
from leaderboard.errors import Invalid, NotFound
from leaderboard.memory import Kept
from leaderboard.runs.ops.limits import ORGANISERS_KINDS
from leaderboard.scoring.ops.statistics.standings import needed_words
from leaderboard.stats.suites import MEANS, By
from leaderboard.suites.ops import rows, sending
from leaderboard.suites.ops import seen as suites_seen
from leaderboard.suites.ops.rows import (
    BoardRow,
    ChangeRow,
    PairRow,
    SuiteBoard,
    SuiteBoardRequest,
    board_rows,
    change_rows,
    drawn_noun,
    pair_rows,
)
from leaderboard.suites.ops.seen import (
    KeptBoard,
    KnownSuite,
    LeftOutMember,
    SeenMember,
    SeenRun,
    SeenSuite,
    kept_board,
    seen_suite,
)
from leaderboard.tables.record import DOT, Column, Files, Place, Shown, Table, columns_from, counted
from leaderboard.trec.suites import GROUPS, meant

LONGEST_S = 60.0
"""An upper limit even without changes: boards may depend on the clock."""

Key = tuple[tuple[int, ...], frozenset[int], frozenset[int], bool]


@dataclass(frozen=True, slots=True)
class _Kept:
    version: int
    until: float
    seen: SeenSuite


_kept: WeakKeyDictionary[Engine, Kept[_Kept]] = WeakKeyDictionary()
_lock = threading.Lock()


def kept_suite(session: Session, viewer: Viewer, known_suite: KnownSuite) -> SeenSuite:
    """As `seen_suite`; one statement if the site did not change since the last call."""
    engine = session.get_bind().engine
    # SuiteBoardRequest of the session itself: what it reads later is never of an older version.
    version = session.scalar(select(SiteVersion.number)) or 0
    key = (
        (known_suite.suite.id, *(member.member.id for member in known_suite.members)),
        viewer.team_ids,
        frozenset(member_task.task.id for member_task in known_suite.members)
        & (viewer.organises | viewer.reads),
        viewer.is_operator,
    )
    with _lock:
        suites = _kept.setdefault(engine, Kept(__name__))
    kept = suites.get(key)
    if kept is not None and kept.version == version and kept.until > time.monotonic():
        return kept.seen
    until = time.monotonic() + min(LONGEST_S, phase_rules.seconds_to_next_date(session))
    seen = seen_suite(session, viewer, known_suite)
    suites.put(key, _Kept(version, until, seen))
    return seen


HEADS: dict[By, str] = {
    "mean": "mean",
    "macro": "macro",
    "micro": "micro",
    "borda": "Borda",
    "mean_rank": "mean rank",
}
TABLE_NAMES: dict[By, str] = {
    "mean": "the mean over members",
    "macro": "the mean of the means within groups",
    "micro": "the mean over all topics of all members",
    "borda": "Borda points",
    "mean_rank": "the mean rank",
}
NOT_DEFINED = "not defined"
"""The text for a number whose denominator is 0."""
_OF_A_SITE: tuple[Column[BoardRow], ...] = (
    Column("run_id", attrgetter("run_id"), shown=Place.DATA),
    Column("team", attrgetter("team"), shown=Place.DATA | Place.PRINT),
    Column("kind", attrgetter("kind"), shown=Place.DATA),
)
LIST_COLUMNS: tuple[Column[Any], ...] = (
    Column("slug", attrgetter("slug"), "Suite", shown=~Place.PAGE),
    Column("title", attrgetter("title"), "Title"),
    Column("members", lambda row: len(row.members), "Members", digits=0),
)


def board_table(
    of: SuiteBoard, rows: Sequence[BoardRow] | None = None, *, on_site: bool = False
) -> Table[BoardRow]:
    """One row per run: rank, its range, the aggregates, the mean of each member; on a site with its team.

    rows: where they were made before.
    """
    head = str.capitalize if on_site else str
    aggregates = {name: _aggregate(name, of, head(HEADS[name])) for name in _shown(of)}
    # What ranks comes first on a page, where a phone shows three columns.
    first = [aggregates.pop(of.asked.by)] if on_site else []
    members = [_member(number, member.name, of) for number, member in enumerate(of.members)]
    return Table(
        "suite",
        caption(of),
        columns_from(
            BoardRow,
            Column("rank", attrgetter("rank"), head("rank"), digits=0),
            Column("run", attrgetter("run"), head("run"), mark=lambda row: DOT if row.may_be_best else ""),
            *(_OF_A_SITE if on_site else ()),
            *first,
            *([_ranks(on_site, head("ranks"))] if of.board.verdicts else []),
            "low high may_be_best",
            *(members if on_site else ()),
            Column(
                "members",
                attrgetter("present"),
                head("members"),
                words=lambda row: f"{row.present} of {row.members}",
            ),
            *aggregates.values(),
            *(() if on_site else members),
        ),
        board_rows(of) if rows is None else rows,
        legend=f"{DOT} may be the best on {_elsewhere(of)} (95 % confidence, simultaneous)."
        if of.board.verdicts and of.board.verdicts.may_be_best.any()
        else "",
    )


def change_table(of: SuiteBoard, rows: Sequence[ChangeRow] | None = None) -> Table[ChangeRow]:
    """One row per run and member: what became of it and of its gain since the reference."""
    return Table(
        "suite-changes",
        f"Changes from {of.scores.suite.reference or 'no reference'}.",
        [
            Column("run", attrgetter("run")),
            Column("member", attrgetter("member"), shown=~Place.PAGE),
            _number(
                "RI_reference", lambda row: row.change.effect and row.change.effect.ri_original, "RI there"
            ),
            _number("RI", lambda row: row.change.effect and row.change.effect.ri_other, "RI here"),
            _number("DRI", lambda row: row.change.effect and row.change.effect.dri),
            _number("ER", lambda row: row.change.effect and row.change.effect.er),
            _number("RC", lambda row: row.change.rc),
            _number("mean_of_both", lambda row: row.change.mean_of_both, "mean of both"),
            _number("p", attrgetter("change.p")),
        ],
        change_rows(of) if rows is None else rows,
    )


def pair_table(of: SuiteBoard, rows: Sequence[PairRow] | None = None) -> Table[PairRow]:
    """One row per pair of complete runs: how sure their difference is."""
    names = ("difference", "error", "freedom", "t", "p", "adjusted", "low", "high")
    heads = {"error": "SE", "freedom": "df", "adjusted": "p (Holm)"}
    noun, units = drawn_noun(of), of.board.pairs.units if of.board.pairs else 0
    return Table(
        "suite-pairs",
        f"Pairs by {_name(of)}: {_elsewhere(of)}.",
        [
            Column("a", attrgetter("a")),
            Column("b", attrgetter("b")),
            *(Column(name, attrgetter(name), heads.get(name, ""), digits=4) for name in names),
            Column("better", attrgetter("better")),
            Column(
                f"{noun}s_needed",
                attrgetter("needed"),
                f"{noun}s needed",
                title=f"Approximate number of {noun}s like these to decide it with 80% power",
                words=lambda row: None if row.better else needed_words(row.needed, units, noun),
                digits=0,
            ),
        ],
        pair_rows(of) if rows is None else rows,
    )


SUITE_TABLES: dict[str, Callable[[SuiteBoard], Table[Any]]] = {
    "board": board_table,
    "changes": change_table,
    "pairs": pair_table,
}


def caption(of: SuiteBoard) -> str:
    """The summary of the board, in one line."""
    runs, members = len(of.scores.runs), len(of.members)
    measures = {of.scores.measures[member.name].key for member in of.members}
    measure = f" by {measures.pop()}" if len(measures) == 1 else ""
    name = of.scores.suite.name
    return (
        f"{name}: {counted(runs, 'run')} over {counted(members, 'member')}{measure}, ranked by {_name(of)}."
    )


def _name(of: SuiteBoard) -> str:
    grouped = f" (by {of.scores.suite.macro})" if of.asked.by == "macro" else ""
    return TABLE_NAMES[of.asked.by] + grouped


def _elsewhere(of: SuiteBoard) -> str:
    """The population that the confidence covers."""
    names = {
        "topics": "other topics in these members",
        "members": "members like these",
        "shared topics": "new topics shared by these members",
    }
    return names[of.asked.drawn]


def _shown(of: SuiteBoard) -> list[By]:
    """The aggregates with a column: macro means if there are groups, micro means if requested."""
    shown: list[By] = ["mean", "borda", "mean_rank"]
    if of.scores.suite.macro:
        shown.insert(1, "macro")
    if of.asked.by == "micro":
        shown.insert(1, "micro")
    return shown


def _ranks(on_site: bool, head: str) -> Column[BoardRow]:
    return Column(
        "ranks",
        attrgetter("low"),
        head,
        words=lambda row: None if row.low is None else f"{row.low}-{row.high}",
        shown=Place.PRINT | Place.PAGE if on_site else Place.PRINT,
    )


def _aggregate(name: By, of: SuiteBoard, head: str) -> Column[BoardRow]:
    lower = name == "mean_rank" or (name in MEANS and of.lower_is_better)
    return Column(
        name, lambda row: row.values[name], head, digits=1 if name == "borda" else 4, lower_is_better=lower
    )


def _member(number: int, name: str, of: SuiteBoard) -> Column[BoardRow]:
    digits, lower = of.scores.measures[name].measure.digits, of.lower_is_better
    return Column(name, lambda row: row.means[number], digits=digits, lower_is_better=lower, group="member")


def _number(key: str, value: Callable[[ChangeRow], Any], head: str = "") -> Column[ChangeRow]:
    return Column(key, value, head, digits=4)


BY: tuple[By, ...] = ("mean", "macro", "micro", "borda", "mean_rank")
NOTHING_YET = "No suite run is ranked yet. A suite run is ranked if all of its runs are official."


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteChoice:
    """A reader's choices for a suite: ranking, confidence over members, groups, baseline."""

    by: str = "mean"
    like_these: bool = False
    groups: tuple[tuple[str, str], ...] = ()
    baseline: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SuitePage:
    """A suite as seen by one viewer.

    board: empty without runs; asked: the request it answers. counting: short names of the counted
    members. groups: kind of group -> its names, for the shown members. why_not: the reason for a missing
    board.
    """

    suite: str
    title: str
    description: str
    members: tuple[SeenMember, ...]
    left_out: tuple[LeftOutMember, ...]
    runs: tuple[SeenRun, ...]
    reference: str
    baseline: str
    asked: SuiteBoardRequest
    shares_topics: bool
    choices: tuple[By, ...]
    groups: Mapping[str, tuple[str, ...]]
    board: KeptBoard
    why_not: str
    may_change: bool
    is_withdrawn: bool

    @property
    def of(self) -> SuiteBoard | None:
        """The runs in the tables: the ranked runs, or all if none is ranked."""
        return self.board.of or self.board.all

    @property
    def counting(self) -> tuple[str, ...]:
        """The members that count."""
        return () if self.of is None else tuple(member.name for member in self.of.members)

    @property
    def too_few(self) -> str:
        """That its topics or members are too few to order the runs; empty where they are not."""
        return "" if self.of is None else rows.too_few(self.of)

    @property
    def remarks(self) -> tuple[str, ...]:
        """The remarks on the board, as sentences."""
        return () if self.of is None else tuple(rows.general_remarks(self.of))


@dataclass(frozen=True, slots=True)
class SuiteRow:
    """A suite in the list."""

    slug: str
    title: str
    members: tuple[str, ...]
    is_withdrawn: bool


def suites(session: Session, viewer: Viewer) -> tuple[SuiteRow, ...]:
    """The suites that the viewer may know of; two statements."""
    return tuple(
        SuiteRow(
            known_suite.suite.slug,
            known_suite.suite.title,
            known_suite.names,
            known_suite.suite.withdrawn_at is not None,
        )
        for known_suite in suites_seen.visible_suites(session, viewer)
    )


def suite_page(session: Session, viewer: Viewer, slug: str, choice: SuiteChoice) -> SuitePage:
    """The board of a suite; three statements while the site does not change.

    Raises NotFound as `records.visible_suite` does, Invalid for what cannot be asked of it.
    """
    known_suite = suites_seen.visible_suite(session, viewer, slug)
    seen = kept_suite(session, viewer, known_suite)
    request = _asked(choice, shares_topics=known_suite.suite.shared_topics)
    why_not = ""
    try:
        board = kept_board(known_suite, seen, request)
    except Invalid as error:
        if request != _asked(SuiteChoice(), shares_topics=known_suite.suite.shared_topics):
            raise
        board, why_not = KeptBoard(None, None, ()), error.message
    own = {run.id for run in seen.runs if run.team_id in viewer.team_ids}
    return SuitePage(
        suite=known_suite.suite.slug,
        title=known_suite.suite.title,
        description=known_suite.suite.description,
        members=seen.members,
        left_out=seen.left_out,
        runs=tuple(replace(run, is_own=run.id in own) for run in seen.runs),
        reference=known_suite.suite.reference,
        baseline=request.baseline or known_suite.suite.baseline,
        asked=request,
        shares_topics=known_suite.suite.shared_topics,
        choices=_choices(known_suite.suite.macro, seen.members),
        groups=_groups(seen.members),
        board=board,
        why_not=why_not or ("" if board.of or not board.rows else NOTHING_YET),
        may_change=known_suite.may_change,
        is_withdrawn=known_suite.suite.withdrawn_at is not None,
    )


def suite_table(page: SuitePage) -> Table[BoardRow]:
    """The board as a table."""
    if page.of is None:
        return Table(page.suite, page.title, [], ())
    table = board_table(page.of, page.board.rows, on_site=True)
    return replace(table, name=page.suite)


def changes(page: SuitePage, member: str | None = None) -> Table[ChangeRow]:
    """The changes from the reference, to all members or to one; raises NotFound for an unknown one."""
    if page.board.all is None:
        return Table(f"{page.suite}-changes", page.title, [], ())
    table = change_table(page.board.all, page.board.changes)
    if member is not None and member not in page.counting:
        raise NotFound(f"No counted member is called {member[:40]!r}. {meant(member, page.counting)}")
    chosen = [row for row in table.rows if member in (None, row.member)]
    return replace(table, name=f"{page.suite}-changes", rows=chosen)


def pairs(page: SuitePage, run: str | None = None) -> Table[PairRow]:
    """The pairs of runs, of all or of one; raises NotFound for a run that is in none."""
    if page.of is None:
        return Table(f"{page.suite}-pairs", page.title, [], ())
    table = pair_table(page.of, page.board.pairs)
    chosen = [row for row in table.rows if run is None or run in (row.a, row.b)]
    if run is not None and not chosen:
        raise NotFound(f"No pair contains the run {run[:64]!r}.")
    return replace(table, name=f"{page.suite}-pairs", rows=chosen)


def suite_facts(page: SuitePage) -> dict[str, Any]:
    """The suite as plain values at full precision, as the command prints those of files."""
    return {
        "suite": page.suite,
        "title": page.title,
        "rank_by": page.asked.by,
        "drawn_anew": page.asked.drawn,
        "reference": page.reference,
        "baseline": page.baseline,
        "members": [
            {
                "member": member.name,
                "task": member.slug,
                "measure": member.measure.key,
                "measure_version": member.measure.measure.version,
                "topics": len(member.topics),
                "counts": member.name in page.counting,
                **member.groups,
            }
            for member in page.members
        ],
        "left_out": [
            {"member": left_out_member.name, "task": left_out_member.slug, "why": left_out_member.why}
            for left_out_member in page.left_out
        ],
        "remarks": [*filter(None, (page.too_few, *page.remarks, page.why_not))],
        "board": suite_table(page).facts(),
        "changes": changes(page).facts(),
        "pairs": pairs(page).facts(),
    }


SUITE_FILES: Files[SuitePage] = Files(
    facts=suite_facts, tables={"board": suite_table, "changes": changes, "pairs": pairs}
)


def list_table(of: tuple[SuiteRow, ...]) -> Table[SuiteRow]:
    """The suites as a table."""
    return Table("suites", "Task suites.", LIST_COLUMNS, of)


LIST_FILES: Files[tuple[SuiteRow, ...]] = Files(
    facts=lambda of: {"suites": list_table(of).facts()}, tables={"suites": list_table}
)


def _asked(choice: SuiteChoice, *, shares_topics: bool) -> SuiteBoardRequest:
    if choice.by not in BY:
        raise Invalid(f"Runs can be ranked by one of {', '.join(BY)}, not {choice.by[:40]!r}.")
    for key, _ in choice.groups:
        if key not in GROUPS:
            raise Invalid(f"Members can be grouped by {', '.join(GROUPS)}, not {key[:40]!r}.")
    by = next(by for by in BY if by == choice.by)
    usual = "shared topics" if shares_topics else "topics"
    return SuiteBoardRequest(
        by=by,
        drawn="members" if choice.like_these else usual,  # type: ignore[arg-type]
        groups=choice.groups,
        baseline=choice.baseline,
    )


def _choices(macro: str, members: tuple[SeenMember, ...]) -> tuple[By, ...]:
    grouped = bool(macro) and all(macro in member.groups for member in members)
    return tuple(by for by in BY if by != "macro" or grouped)


def _groups(members: tuple[SeenMember, ...]) -> dict[str, tuple[str, ...]]:
    names = {
        key: sorted({member.groups[key] for member in members if key in member.groups}) for key in GROUPS
    }
    return {key: tuple(values) for key, values in names.items() if values}


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
    """A suite run as seen by one viewer; row: its board row, None if it has none.

    lacking: members without a run, with the team's candidate runs; for viewers who can change it.
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
    """The form that submits runs to a suite: the viewer's teams, members, and runs that teams have."""

    suite: str
    title: str
    members: tuple[tuple[str, str, str], ...]
    """Short name, task's slug and name of each."""
    teams: tuple[tuple[int, str], ...]
    kinds: tuple[str, ...]
    runs: Mapping[str, tuple[OwnRun, ...]]
    needs_metadata: bool


def suite_run_page(session: Session, viewer: Viewer, slug: str, suite_run_id: int) -> SuiteRunPage:
    """A suite run; raises NotFound if it does not exist or is not visible to the viewer."""
    page = suite_page(session, viewer, slug, SuiteChoice())
    seen = next((run for run in page.runs if run.id == suite_run_id), None)
    try:
        known_suite, own = sending.own_suite_run(session, viewer, slug, suite_run_id)
    except NotFound:
        if seen is None:
            raise NotFound(f"There is no run {suite_run_id} in this suite.") from None
        known_suite, own = suites_seen.visible_suite(session, viewer, slug), None
    sent = dict(seen.parts) if seen is not None else {}
    if own is not None:
        sent |= _parts_of(session, known_suite, own.id)
    team = session.get(Team, own.team_id) if own is not None and seen is None else None
    return SuiteRunPage(
        suite=page.suite,
        title=page.title,
        id=suite_run_id,
        name=own.name if own is not None else seen.name if seen else "",
        team=team.name if team is not None else seen.team if seen else "",
        kind=seen.kind if seen is not None else "",
        row=next((row for row in page.board.rows if row.run_id == suite_run_id), None),
        parts=_part_rows(session, known_suite, page, sent),
        left_out=page.left_out,
        may_change=own is not None,
        is_withdrawn=own is not None and own.withdrawn_at is not None,
        lacking=_lacking(session, known_suite, own.team_id, sent) if own is not None else {},
        ranked=sum(row.rank is not None for row in page.board.rows),
    )


def send_page(session: Session, viewer: Viewer, slug: str) -> SendPage:
    """The submission form; raises NotFound, SignInNeeded."""
    policy.require_account(viewer)
    known_suite = suites_seen.visible_suite(session, viewer, slug)
    teams = session.execute(
        select(Team.id, Team.name)
        .where(Team.id.in_(viewer.team_ids), Team.merged_into_id.is_(None))
        .order_by(Team.name)
    ).all()
    organises = all(policy.organises(viewer, member.task.id) for member in known_suite.members)
    return SendPage(
        suite=known_suite.suite.slug,
        title=known_suite.suite.title,
        members=tuple(
            (member_task.member.name, member_task.task.slug, member_task.task.name)
            for member_task in known_suite.members
        ),
        teams=tuple((team.id, team.name) for team in teams),
        kinds=tuple(kind for kind in KINDS if organises or kind not in ORGANISERS_KINDS),
        runs=_own_runs(session, known_suite, viewer.team_ids),
        needs_metadata=known_suite.suite.metadata_is_required,
    )


def run_table(page: SuiteRunPage) -> Table[PartRow]:
    """The members and the run of each."""
    return Table(
        f"{page.suite}-run-{page.id}",
        f"The runs of {page.name} in {page.title}.",
        columns_from(PartRow, "member slug run_id run measure mean"),
        page.parts,
    )


def run_facts(page: SuiteRunPage) -> dict[str, Any]:
    """The suite run as plain values."""
    row = page.row
    return {
        "suite": page.suite,
        "suite_run": page.id,
        "name": page.name,
        "team": page.team,
        "rank": row.rank if row is not None else None,
        "members": run_table(page).facts(),
    }


RUN_FILES: Files[SuiteRunPage] = Files(facts=run_facts, tables={"members": run_table})


def _parts_of(session: Session, known_suite: KnownSuite, suite_run_id: int) -> dict[str, int]:
    """Member -> id of the run, of a suite run of the viewer's own."""
    names = {member.member.id: member.member.name for member in known_suite.members}
    rows = session.execute(
        select(SuiteRunPart.member_id, SuiteRunPart.run_id).where(SuiteRunPart.suite_run_id == suite_run_id)
    )
    return {names[member_id]: run_id for member_id, run_id in rows if member_id in names}


def _part_rows(
    session: Session, known_suite: KnownSuite, page: SuitePage, sent: Mapping[str, int]
) -> tuple[PartRow, ...]:
    seen = {seen_member.name: seen_member for seen_member in page.members}
    shown = {**seen, **{name: None for name in sent if name not in seen}}
    runs = session.execute(select(Run.id, Run.name).where(Run.id.in_(sent.values()))).all()
    names = {row.id: row.name for row in runs}
    rows = []
    for member_task in known_suite.members:
        name = member_task.member.name
        if name not in shown:
            continue
        member, run_id = seen.get(name), sent.get(name)
        row = member.rows.get(run_id) if member is not None and run_id is not None else None
        scores = member.scores.get(run_id) if member is not None and run_id is not None else None
        rows.append(
            PartRow(
                member=name,
                slug=member_task.task.slug,
                task=member_task.task.name,
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
    """The text for a member without a number."""
    if run_id is None:
        return "no run"
    if not is_shown:
        return "scores hidden"
    if not has_row:
        return "not on its board"
    return "" if has_scores else "waiting for scores"


def _lacking(
    session: Session, known_suite: KnownSuite, team_id: int, sent: Mapping[str, int]
) -> dict[str, tuple[OwnRun, ...]]:
    """The members without a run, or whose run was withdrawn, with the team's runs that could be it."""
    gone = set(
        session.scalars(select(Run.id).where(Run.id.in_(sent.values()), Run.withdrawn_at.is_not(None)))
    )
    free = _own_runs(session, known_suite, frozenset({team_id}))
    return {
        name: tuple(run for run in runs if run.run_id != sent.get(name))
        for name, runs in free.items()
        if name not in sent or sent[name] in gone
    }


def _own_runs(
    session: Session, known_suite: KnownSuite, team_ids: frozenset[int]
) -> dict[str, tuple[OwnRun, ...]]:
    """Member -> the runs of teams on its board that are not in the suite yet, by name; one statement."""
    used = select(SuiteRunPart.run_id).where(
        SuiteRunPart.member_id.in_([member.member.id for member in known_suite.members])
    )
    rows = session.execute(
        select(Run.id, Run.name, Run.team_id, Run.task_id)
        .join(Task, Task.id == Run.task_id)
        .where(
            Run.team_id.in_(team_ids),
            Run.task_id.in_([member_task.task.id for member_task in known_suite.members]),
            Run.withdrawn_at.is_(None),
            Run.id.not_in(used),
        )
        .order_by(Run.name)
    ).all()
    return {
        member_task.member.name: tuple(
            OwnRun(row.id, row.name, row.team_id) for row in rows if row.task_id == member_task.task.id
        )
        for member_task in known_suite.members
    }


def of_front(session: Session, viewer: Viewer) -> tuple[Part, ...]:
    """The suites part of the front page, if there are any."""
    suites = suites_seen.suites_on_site(session, viewer)
    return (Part("suites/of_front.html", suites),) if suites else ()


def of_task(session: Session, task_id: int) -> tuple[Part, ...]:
    """The suites part of a task's page."""
    suites = suites_seen.suites_of_task(session, task_id)
    return (Part("suites/of_task.html", suites),) if suites else ()


def of_run(session: Session, run_id: int) -> tuple[Part, ...]:
    """The suite runs that contain a run; call it only under the conditions of `sending.suite_run_of`."""
    suite_runs = sending.suite_run_of(session, run_id)
    return (Part("suites/of_run.html", suite_runs),) if suite_runs else ()
