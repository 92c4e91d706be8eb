"""The board of a suite, the changes between its members and its pairs of runs, for one viewer."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy.orm import Session

from leaderboard.errors import Invalid, NotFound
from leaderboard.pages.suites import kept, tables
from leaderboard.services.policy import Viewer
from leaderboard.services.suites import records, rows
from leaderboard.services.suites.board import KeptBoard, kept_board
from leaderboard.services.suites.rows import BoardRow, ChangeRow, PairRow, SuiteBoard, SuiteBoardRequest
from leaderboard.services.suites.seen import LeftOutMember, SeenMember, SeenRun
from leaderboard.stats.suites.board import By
from leaderboard.tables.record import Files, Table
from leaderboard.trec.suites.suite_files import GROUPS, meant

BY: tuple[By, ...] = ("mean", "macro", "micro", "borda", "mean_rank")
NOTHING_YET = "No run is ranked yet: ranks are of suite runs all of whose runs are official ones."


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteChoice:
    """What a reader asks of a suite: what ranks runs, whether members would be others, groups, a baseline."""

    by: str = "mean"
    like_these: bool = False
    groups: tuple[tuple[str, str], ...] = ()
    baseline: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SuitePage:
    """A suite as one viewer sees it.

    board: as far as there are runs; asked: what it answers. counting: short names of the members that count.
    groups: kind of group -> its names, of the members that are shown. why_not: why there is no board.
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
        """What tables are made of: the ranked runs, or all where none is ranked."""
        return self.board.of or self.board.all

    @property
    def counting(self) -> tuple[str, ...]:
        """The members that count."""
        return () if self.of is None else tuple(one.name for one in self.of.members)

    @property
    def too_few(self) -> str:
        """That its topics or members are too few to order the runs; empty where they are not."""
        return "" if self.of is None else rows.too_few(self.of)

    @property
    def remarks(self) -> tuple[str, ...]:
        """What a reader must know of the board, a sentence each."""
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
        SuiteRow(one.suite.slug, one.suite.title, one.names, one.suite.withdrawn_at is not None)
        for one in records.visible_suites(session, viewer)
    )


def suite_page(session: Session, viewer: Viewer, slug: str, choice: SuiteChoice) -> SuitePage:
    """The board of a suite; three statements while the site stays as it is.

    Raises NotFound as `records.visible_suite` does, Invalid for what cannot be asked of it.
    """
    known = records.visible_suite(session, viewer, slug)
    seen = kept.kept_suite(session, viewer, known)
    asked = _asked(choice, shares_topics=known.suite.shared_topics)
    why_not = ""
    try:
        board = kept_board(known, seen, asked)
    except Invalid as error:
        if asked != _asked(SuiteChoice(), shares_topics=known.suite.shared_topics):
            raise
        board, why_not = KeptBoard(None, None, ()), error.message
    own = {run.id for run in seen.runs if run.team_id in viewer.team_ids}
    return SuitePage(
        suite=known.suite.slug,
        title=known.suite.title,
        description=known.suite.description,
        members=seen.members,
        left_out=seen.left_out,
        runs=tuple(replace(run, is_own=run.id in own) for run in seen.runs),
        reference=known.suite.reference,
        baseline=asked.baseline or known.suite.baseline,
        asked=asked,
        shares_topics=known.suite.shared_topics,
        choices=_choices(known.suite.macro, seen.members),
        groups=_groups(seen.members),
        board=board,
        why_not=why_not or ("" if board.of or not board.rows else NOTHING_YET),
        may_change=known.may_change,
        is_withdrawn=known.suite.withdrawn_at is not None,
    )


def table(page: SuitePage) -> Table[BoardRow]:
    """The board as a table."""
    if page.of is None:
        return Table(page.suite, page.title, [], ())
    made = tables.board_table(page.of, page.board.rows, on_site=True)
    return replace(made, name=page.suite)


def changes(page: SuitePage, member: str | None = None) -> Table[ChangeRow]:
    """The changes from the reference, to all members or to one; raises NotFound for an unknown one."""
    if page.board.all is None:
        return Table(f"{page.suite}-changes", page.title, [], ())
    made = tables.change_table(page.board.all, page.board.changes)
    if member is not None and member not in page.counting:
        raise NotFound(f"There is no member {member[:40]!r} that counts. {meant(member, page.counting)}")
    chosen = [row for row in made.rows if member in (None, row.member)]
    return replace(made, name=f"{page.suite}-changes", rows=chosen)


def pairs(page: SuitePage, run: str | None = None) -> Table[PairRow]:
    """The pairs of runs, of all or of one; raises NotFound for a run that is in none."""
    if page.of is None:
        return Table(f"{page.suite}-pairs", page.title, [], ())
    made = tables.pair_table(page.of, page.board.pairs)
    chosen = [row for row in made.rows if run is None or run in (row.a, row.b)]
    if run is not None and not chosen:
        raise NotFound(f"There is no pair with the run {run[:64]!r}.")
    return replace(made, name=f"{page.suite}-pairs", rows=chosen)


def facts(page: SuitePage) -> dict[str, Any]:
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
                "member": one.name,
                "task": one.slug,
                "measure": one.measure.key,
                "measure_version": one.measure.measure.version,
                "topics": len(one.topics),
                "counts": one.name in page.counting,
                **one.groups,
            }
            for one in page.members
        ],
        "left_out": [{"member": one.name, "task": one.slug, "why": one.why} for one in page.left_out],
        "remarks": [*filter(None, (page.too_few, *page.remarks, page.why_not))],
        "board": table(page).facts(),
        "changes": changes(page).facts(),
        "pairs": pairs(page).facts(),
    }


FILES: Files[SuitePage] = Files(facts=facts, tables={"board": table, "changes": changes, "pairs": pairs})


def list_table(of: tuple[SuiteRow, ...]) -> Table[SuiteRow]:
    """The suites as a table."""
    return Table("suites", "Suites of tasks.", tables.LIST_COLUMNS, of)


LIST_FILES: Files[tuple[SuiteRow, ...]] = Files(
    facts=lambda of: {"suites": list_table(of).facts()}, tables={"suites": list_table}
)


def _asked(choice: SuiteChoice, *, shares_topics: bool) -> SuiteBoardRequest:
    if choice.by not in BY:
        raise Invalid(f"Runs are ranked by one of {', '.join(BY)}, not {choice.by[:40]!r}.")
    for key, _ in choice.groups:
        if key not in GROUPS:
            raise Invalid(f"Members are grouped by {', '.join(GROUPS)}, not {key[:40]!r}.")
    by = next(one for one in BY if one == choice.by)
    usual = "shared topics" if shares_topics else "topics"
    return SuiteBoardRequest(
        by=by,
        drawn="members" if choice.like_these else usual,  # type: ignore[arg-type]
        groups=choice.groups,
        baseline=choice.baseline,
    )


def _choices(macro: str, members: tuple[SeenMember, ...]) -> tuple[By, ...]:
    grouped = bool(macro) and all(macro in one.groups for one in members)
    return tuple(by for by in BY if by != "macro" or grouped)


def _groups(members: tuple[SeenMember, ...]) -> dict[str, tuple[str, ...]]:
    names = {key: sorted({one.groups[key] for one in members if key in one.groups}) for key in GROUPS}
    return {key: tuple(values) for key, values in names.items() if values}
