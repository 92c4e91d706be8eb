"""What a reader asks to see of a board: some of its rows, some columns, how far scores could move.

A view hides rows and columns; ranks, places and sentences stay those of the whole board.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise

from sqlalchemy.orm import Session

from leaderboard.measures.naming import parse
from leaderboard.pages.boards import circular
from leaderboard.pages.boards import coverage as coverages
from leaderboard.pages.boards.coverage import Bounds, Coverage, CoveredRun
from leaderboard.pages.boards.efficiency import front_of
from leaderboard.pages.boards.facts import FactColumn, FieldChoice, choices_of, columns_of, matches
from leaderboard.pages.boards.reveal import PublicPlace, public_places
from leaderboard.services import policy
from leaderboard.services.boards.board import Board
from leaderboard.services.boards.rows import Row
from leaderboard.services.evaluations.columns import MeasureColumn
from leaderboard.services.policy import Viewer
from leaderboard.services.runs.facts import COST_OF
from leaderboard.services.statistics.procedures.coverage import depth as depth_of
from leaderboard.services.statistics.standings import Standing
from leaderboard.tables.words import counted

BASELINE = "baseline"
UNJUDGED, BOUNDS, RANGES, PLACES, MEANS = "unjudged", "bounds", "ranges", "places", "means"
MOVED = "moved"
EXTRAS = (UNJUDGED, BOUNDS, RANGES, PLACES, MEANS, MOVED)
"""Columns that are neither measures nor facts of runs: as they are called in an address."""
RANGES_UP_TO = 20
"""Ranked runs of a board that shows rank ranges without being asked."""


@dataclass(frozen=True, slots=True)
class BoardChoice:
    """What is asked for; whatever is empty is not."""

    search: str = ""
    """Words that all must be in a run's name, team, tag or description."""
    team: str = ""
    kind: str = ""
    tag: str = ""
    field: str = ""
    """Key of a run fact; with a value, runs of that value, else runs that state any."""
    value: str = ""
    own: bool = False
    """Only runs of the viewer's teams."""
    independent: bool = False
    """Only runs that state no model of a family that made the judgments of their answers."""
    columns: tuple[str, ...] = ()
    """Measures, facts and extras; all measures, and the extras that suit the board, where none is named."""
    in_line: bool = False
    """Baselines where their scores put them, not above the others."""
    bounds: bool = False
    ranges: bool = False

    @property
    def filters(self) -> bool:
        """Whether some rows may be hidden."""
        return any((self.search, self.team, self.kind, self.tag, self.field, self.own, self.independent))


@dataclass(frozen=True, slots=True)
class Choices:
    """What a reader may choose from, of what the viewer sees."""

    teams: tuple[str, ...]
    kinds: tuple[str, ...]
    fields: tuple[FieldChoice, ...]
    own: int
    """How many runs are of the viewer's teams."""
    baselines: int


@dataclass(frozen=True, slots=True)
class View:
    """The rows and columns of a board to show."""

    board: Board
    wish: BoardChoice
    baselines: tuple[Row, ...]
    """Above the others, with no rank; empty where they stand in line."""
    rows: tuple[Row, ...]
    total: int
    """Runs on the whole board."""
    measures: tuple[MeasureColumn, ...]
    facts: tuple[FactColumn, ...]
    extras: frozenset[str]
    choices: Choices
    depth: str
    """What the unjudged share is of, in words, such as `top 10`."""
    coverage: dict[int, Coverage] = field(default_factory=dict)
    """Run id -> how much of it is judged; empty while that is held back."""
    outside: frozenset[int] = frozenset()
    """Runs of which clearly less is judged than of the others."""
    bounds: dict[int, Bounds] = field(default_factory=dict)
    bounds_said: str = ""
    """What the bounds say of the order, or why there are none; empty where they were not asked for."""

    fronts: Mapping[str, frozenset[int]] = field(default_factory=dict)
    """Key of a cost that is shown -> the runs that no other beats in both it and the board's measure."""
    circular: Mapping[int, str] = field(default_factory=dict)
    """Run id -> the families of models that it states and that made the judgments, in words."""
    public: dict[int, PublicPlace] = field(default_factory=dict)
    """Run id -> where it stood on the public topics of a blind task; empty while the others are held back."""

    @property
    def listed(self) -> int:
        """How many runs are left."""
        return len(self.baselines) + len(self.rows)

    @property
    def sentences(self) -> tuple[str, ...]:
        """What is said of the order, and where not all runs are shown, of which it is said."""
        # What is to be known of judgments of answers stands above the order.
        above = self.board.answers.sentences if self.board.answers else ()
        return tuple(sentence for sentence in self.all_sentences if sentence not in above)

    @property
    def all_sentences(self) -> tuple[str, ...]:
        """The same, and what is to be known of the judgments of answers."""
        return self.board.sentences + self._about_all

    @property
    def _about_all(self) -> tuple[str, ...]:
        standing = self.board.standing
        if not isinstance(standing, Standing) or standing.topics < 2:
            return ()
        shown = [row.run_id for row in self.all_rows if row.run_id in standing.places]
        if len(shown) == len(standing.run_ids):
            return ()
        about = f"Verdicts are about all {counted(len(standing.run_ids), 'ranked run')}; {len(shown):,} "
        about += "is shown." if len(shown) == 1 else "are shown."
        if len(shown) < 2:
            return (about,)
        unbeaten = standing.unbeaten(shown)
        them = "is beaten" if unbeaten == 1 else "are beaten"
        return (f"{about} Of these {unbeaten:,} {them} by none of those shown.",)

    @property
    def cuts(self) -> frozenset[int]:
        """The listed runs of which each, and each above it, beats every ranked run that is listed below."""
        standing = self.board.standing
        if not isinstance(standing, Standing):
            return frozenset()
        return standing.cuts([row.run_id for row in self.rows if row.run_id in standing.places])

    @property
    def all_rows(self) -> tuple[Row, ...]:
        """All rows that are left, in the order shown."""
        return self.baselines + self.rows


def view(session: Session, viewer: Viewer, shown: Board, wish: BoardChoice) -> View:
    """What the viewer is to see of a board by a wish; five statements at most, none where all is in memory.

    Names of columns that the board does not have, or that are held back, are passed over.
    """
    details = shown.sight.details
    shared = circular.runs(shown)
    rows = tuple(
        row
        for row in shown.rows
        if _matches(row, viewer, wish, details) and not (wish.independent and row.run_id in shared)
    )
    pinned = () if wish.in_line else tuple(row for row in rows if row.kind == BASELINE)
    extras = _extras(shown, wish)
    covered = _coverage(session, shown)
    stated = columns_of(shown.rows, wish.columns) if details else ()
    bounds, bounds_said = _bounds(session, shown) if BOUNDS in extras else ({}, "")
    return View(
        board=shown,
        wish=wish,
        baselines=pinned,
        rows=rows if wish.in_line else tuple(row for row in rows if row.kind != BASELINE),
        total=len(shown.rows),
        measures=_measures(shown, wish),
        facts=stated,
        extras=extras,
        choices=_choices(viewer, shown),
        depth=_depth(shown.sorted_by),
        coverage=covered,
        outside=coverages.outside_the_pool(covered),
        bounds=bounds,
        bounds_said=bounds_said,
        circular=shared,
        fronts={fact.key: front_of(shown.rows, fact.key, shown.by) for fact in stated if fact.key in COST_OF},
        public=public_places(session, shown),
    )


def _matches(row: Row, viewer: Viewer, wish: BoardChoice, details: bool) -> bool:
    """Whether a row is asked for, by what the viewer reads of it: its name, and its team as it is shown."""
    if wish.own and not policy.owns(viewer, row.team_id):
        return False
    if (wish.team and row.team != wish.team) or (wish.kind and row.kind != wish.kind):
        return False
    if wish.tag and row.tag != wish.tag:
        return False
    if wish.field and not (details and matches(row, wish.field, wish.value)):
        return False
    if not wish.search:
        return True
    text = "\n".join((row.run, row.team, row.tag, row.description)).casefold()
    return all(word in text for word in wish.search.casefold().split())


def _measures(shown: Board, wish: BoardChoice) -> tuple[MeasureColumn, ...]:
    """The columns asked for, in the board's order; the one it is ranked by always."""
    if not wish.columns:
        return shown.measures
    keys = {*wish.columns, shown.sorted_by}
    return tuple(measure for measure in shown.measures if measure.key in keys)


def _extras(shown: Board, wish: BoardChoice) -> frozenset[str]:
    if wish.columns:
        extras = set(EXTRAS) & set(wish.columns)
    else:
        extras = {UNJUDGED, PLACES, MEANS, MOVED} | (
            {RANGES} if 0 < len(shown.places) <= RANGES_UP_TO else set()
        )
    extras |= {name for name, asked in ((BOUNDS, wish.bounds), (RANGES, wish.ranges)) if asked}
    if shown.source is None or (shown.basis is not None and not shown.basis.dialect):
        extras -= {UNJUDGED, BOUNDS}
    if shown.before is None:
        extras -= {MOVED}
    return frozenset(extras if shown.places else extras - {RANGES, PLACES, MEANS})


def _choices(viewer: Viewer, shown: Board) -> Choices:
    return Choices(
        teams=tuple(sorted({row.team for row in shown.rows if row.team}, key=str.casefold)),
        kinds=tuple(sorted({row.kind for row in shown.rows})),
        fields=choices_of(shown.rows) if shown.sight.details else (),
        own=sum(policy.owns(viewer, row.team_id) for row in shown.rows),
        baselines=sum(row.kind == BASELINE for row in shown.rows),
    )


def _depth(key: str) -> str:
    at = depth_of(parse(key))
    return "retrieved documents" if at is None else f"top {at:,}"


def _scored(shown: Board) -> list[CoveredRun]:
    return [
        CoveredRun(row.run_id, row.ranking_sha256, row.order_differs)
        for row in shown.rows
        if row.scores.get(shown.sorted_by) is not None
    ]


def _coverage(session: Session, shown: Board) -> dict[int, Coverage]:
    # Of answers no document is judged by itself.
    if shown.source is None or (shown.basis is not None and not shown.basis.dialect):
        return {}
    return coverages.coverage(session, shown.source, parse(shown.sorted_by), _scored(shown))


def _bounds(session: Session, shown: Board) -> tuple[dict[int, Bounds], str]:
    """How low and high each run's value could be, and what that says of the order."""
    by = parse(shown.sorted_by)
    if not coverages.has_bounds(by):
        return {}, (
            f"How low and high {shown.sorted_by} could be under unjudged documents is not known; it is for "
            "AP, nDCG, P, RR and RBP."
        )
    assert shown.source is not None, "asked for where scores by topic are shown"
    bounds = coverages.bounds(session, shown.source, by, _scored(shown))
    ranked = [bounds[row.run_id] for row in shown.rows if row.rank is not None]
    return bounds, _order_by_bounds(ranked)


def _order_by_bounds(ranked: list[Bounds]) -> str:
    """How many neighbours of an order, best first and higher better, could change places."""
    if len(ranked) < 2:
        return ""
    flips = sum(below.high > above.low for above, below in pairwise(ranked))
    pairs = len(ranked) - 1
    if not flips:
        return "However the unjudged documents were judged, no run would change places with its neighbour."
    return (
        f"As far as lowest and highest scores tell, {flips:,} of {pairs:,} neighbouring pairs could change "
        "places if the unjudged documents were judged."
    )
