"""What a reader asks to see of a board: some of its rows, some columns, how far scores could move.

A view hides rows and columns; ranks, places and sentences stay those of the whole board.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from statistics import median
from typing import Any

import numpy as np
from sqlalchemy.orm import Session

from leaderboard.measures.binding import BoundMeasure, like
from leaderboard.measures.bounds.ndcg import NDCG_MAX, NDCG_MIN
from leaderboard.measures.bounds.scores import AP_MAX, AP_MIN, P_MAX, RR_MAX
from leaderboard.measures.judged import FloatArray, Judged
from leaderboard.measures.naming import parse
from leaderboard.measures.rank_biased import RBP_RESIDUAL
from leaderboard.measures.record import Measure
from leaderboard.memory import keep
from leaderboard.pages.boards.efficiency import front_of
from leaderboard.pages.boards.reveal import PublicPlace, public_places
from leaderboard.services import policy
from leaderboard.services.boards.board import Board
from leaderboard.services.boards.rows import Row
from leaderboard.services.evaluations import alignments
from leaderboard.services.evaluations.choices import MeasureColumn
from leaderboard.services.evaluations.shown import Source, ranking_key, run_digest
from leaderboard.services.nuggets.line_scores import AnswersBasis
from leaderboard.services.policy import Viewer
from leaderboard.services.runs import facts as run_facts
from leaderboard.services.runs.facts import COST_OF, LONGEST_CHOICE, MOST_VALUES, Fact, facts, nameless
from leaderboard.services.statistics import requests
from leaderboard.services.statistics.procedures import coverage as shares_of_runs
from leaderboard.services.statistics.procedures.coverage import depth as depth_of
from leaderboard.services.statistics.requests import WaitingResult
from leaderboard.services.statistics.standings import Standing
from leaderboard.tables.words import counted
from leaderboard.trec.facts import FIELDS

MOST_OFFERED = 60
"""Facts that are offered for choice: a header may hold any number of them."""
_NOTHING = ("", "{}", "null")


@dataclass(frozen=True, slots=True)
class FieldChoice:
    """A fact that some runs state; values are those to filter by, none where words do not tell runs apart."""

    key: str
    title: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FactColumn:
    """A fact as a column: what each run states, by its id."""

    key: str
    title: str
    is_number: bool
    values: dict[int, Fact]


def of_row(row: Row) -> dict[str, Fact]:
    """Key -> fact that the run states; empty for whom its metadata is not shown."""
    return {} if row.details in _NOTHING else _read(row.details, row.masked)


def matches(row: Row, key: str, value: str) -> bool:
    """Whether the run states the fact, and this value of it where one is given."""
    fact = of_row(row).get(key)
    return fact is not None and (not value or fact.text.casefold() == value.casefold())


def choices_of(rows: Iterable[Row]) -> tuple[FieldChoice, ...]:
    """The facts that any of the runs states: those that people are asked for first, then by title."""
    stated = frozenset((row.details, row.masked) for row in rows if row.details not in _NOTHING)
    return _facts_choices(stated) if stated else ()


def facts_columns_of(rows: Iterable[Row], keys: Iterable[str]) -> tuple[FactColumn, ...]:
    """A column for each of the keys that any run states, in their order."""
    columns: dict[str, dict[int, Fact]] = {key: {} for key in keys}
    if not columns:
        return ()
    for row in rows:
        stated = of_row(row)
        for key in columns.keys() & stated.keys():
            columns[key][row.run_id] = stated[key]
    return tuple(_column(key, values) for key, values in columns.items() if values)


def _column(key: str, values: dict[int, Fact]) -> FactColumn:
    first = next(iter(values.values()))
    are_numbers = all(
        isinstance(fact.value, int | float) and not isinstance(fact.value, bool) for fact in values.values()
    )
    return FactColumn(key, first.title, are_numbers, values)


# What is kept in memory is under the very text that it was read from, so it is the same for every reader.


@keep
def _read(details: str, masked: bool) -> dict[str, Fact]:
    """The facts in a run's metadata as it is stored; of a masked run those that do not tell whose it is."""
    stated = facts(json.loads(details))
    return {fact.key: fact for fact in (nameless(stated) if masked else stated)}


@keep
def _facts_choices(stated: frozenset[tuple[str, bool]]) -> tuple[FieldChoice, ...]:
    titles: dict[str, str] = {}
    values: dict[str, set[str]] = {}
    for details, masked in stated:
        for key, fact in _read(details, masked).items():
            titles.setdefault(key, fact.title)
            words = values.setdefault(key, set())
            if fact.href is None and not fact.unit and len(fact.text) <= LONGEST_CHOICE:
                words.add(fact.text)
    asked_for = {field.key: place for place, field in enumerate(FIELDS)}
    ordered = sorted(titles, key=lambda key: (asked_for.get(key, len(FIELDS)), titles[key].casefold(), key))
    few = {key: tuple(sorted(words)) for key, words in values.items() if len(words) <= MOST_VALUES}
    return tuple(FieldChoice(key, titles[key], few.get(key, ())) for key in ordered[:MOST_OFFERED])


STATED = ("llm", "reranker")
"""What a run states of the models it is made with."""


def runs(shown: Board) -> dict[int, str]:
    """Run id -> the families that the run shares with the judgments; runs that share none are not in it."""
    if shown.answers is None or not shown.answers.families:
        return {}
    stated = {row.run_id: of_row(row) for row in shown.rows}
    shared = {
        run_id: shown.answers.shared_with(*(facts[key].text for key in STATED if key in facts))
        for run_id, facts in stated.items()
    }
    return {run_id: ", ".join(sorted(names)) for run_id, names in shared.items() if names}


def of_run(answers: AnswersBasis | None, details: Mapping[str, Any]) -> str:
    """The same of one run by its stored metadata; empty where it shares none."""
    if answers is None or not answers.families:
        return ""
    stated = (run_facts.fact(details, key) for key in STATED)
    return ", ".join(sorted(answers.shared_with(*(fact.text for fact in stated if fact is not None))))


VERSION = 1
WELL_JUDGED = 0.9
"""Where at least this share of its top is judged, a run counts as pooled whatever the others are."""
APART = 0.05
"""By how much a run's share must be below the median run's: half a document of the top ten."""
FIELD_JUDGED = 0.8
"""Where less of the median run's top is judged, judgments are thin for all, and none is called outside."""

_ENDS: dict[str, tuple[Measure | None, Measure]] = {
    "AP": (AP_MIN, AP_MAX),
    "P": (None, P_MAX),
    "RR": (None, RR_MAX),
    "nDCG": (NDCG_MIN, NDCG_MAX),
    "RBP": (None, RBP_RESIDUAL),
}
"""Measure -> what gives its lowest value, None where that is the value itself, and its highest."""
_ADDED = frozenset({"RBP"})
"""Measures whose highest value is given as what may come on top."""


@dataclass(frozen=True, slots=True)
class CoveredRun:
    """A run as a board has it: id, digest of its rankings, whether 32-bit scores order them differently."""

    run_id: int
    ranking_sha256: str
    order_differs: bool


@dataclass(frozen=True, slots=True)
class Coverage:
    """Of one run, means over the topics that it ranks documents for."""

    unjudged: float
    """The share of unjudged documents down to the measure's depth, 0 to 1."""
    judged_top: float
    """The share of judged documents in the top ten, 0 to 1."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The lowest and highest mean that a run could have if its unjudged documents were judged."""

    low: float
    high: float


def coverage(
    session: Session, source: Source, bound: BoundMeasure, runs: Sequence[CoveredRun]
) -> dict[int, Coverage]:
    """Run id -> how much of it is judged; runs that rank nothing on these topics are left out.

    At most two statements, none where it is in memory.
    """
    cutoff = shares_of_runs.depth(bound)
    shares = _stored(session, source, cutoff, runs) if len(runs) >= shares_of_runs.LEAST_RUNS else None
    if shares is None:
        compute = partial(shares_of_runs.shares, source=source, cutoff=cutoff)
        shares = _of_runs(session, source, f"coverage@{cutoff}", runs, compute)
    return {run_id: Coverage(*of_run) for run_id, of_run in shares.items() if not np.isnan(of_run[0])}


def _stored(
    session: Session, source: Source, cutoff: int | None, runs: Sequence[CoveredRun]
) -> dict[int, tuple[float, float]] | None:
    """What an evaluator computed of the whole board; None where it did not yet, or not of these runs."""
    keys = {
        run.run_id: ranking_key(source, run.run_id, run.ranking_sha256, run.order_differs) for run in runs
    }
    request = requests.of_coverage(source, cutoff, keys)
    result = requests.find(session, request)
    if isinstance(result, WaitingResult):
        return None
    return dict(zip(request.run_ids, map(tuple, result["shares"].tolist()), strict=True))


def outside_the_pool(coverages: dict[int, Coverage]) -> frozenset[int]:
    """The runs of which clearly less is judged than of the others, so that their scores are likely too low.

    Which runs were pooled is not known here, so what the judgments show is taken for it: a run is outside
    when less than nine tenths of its top ten is judged, and its share is more than .05 below the median
    run's. All of the top of a pooled run is judged where the pool is at least ten deep. Half a document of
    ten, if half of such documents are relevant, moves P@10 by .025. Where the median run has less than
    eight tenths judged, none is outside: with thin judgments the share tells how good a run is, not whether
    it was pooled. That unpooled runs lose by it is measured by Büttcher, Clarke, Yeung and Soboroff,
    Reliable Information Retrieval Evaluation with Incomplete and Biased Judgements, SIGIR 2007.

    >>> shares = {1: 1.0, 2: 0.97, 3: 0.71}
    >>> outside_the_pool({run: Coverage(0.0, share) for run, share in shares.items()})
    frozenset({3})
    """
    middle = median(coverage.judged_top for coverage in coverages.values()) if coverages else 0.0
    if middle < FIELD_JUDGED:
        return frozenset()
    limit = min(WELL_JUDGED, middle - APART)
    return frozenset(run_id for run_id, coverage in coverages.items() if coverage.judged_top < limit)


def has_bounds(bound: BoundMeasure) -> bool:
    """Whether it is known how low and high a score by the measure could be."""
    plain = bound.params.get("gains") is None and bound.params.get("ideal", "judged") == "judged"
    return bound.measure.name in _ENDS and plain and not bound.params.get("judged_only")


def coverage_bounds(
    session: Session, source: Source, bound: BoundMeasure, runs: Sequence[CoveredRun]
) -> dict[int, Bounds]:
    """Run id -> between which ends its mean lies; empty where the measure has none.

    An unjudged document may turn out to be of any grade up to the highest one that was given. At most two
    statements, none where it is in memory; else about two milliseconds a run.
    """
    if not has_bounds(bound):
        return {}
    places = np.array(source.places, dtype=np.int64)

    def compute(judged: Judged) -> tuple[float, float]:
        low, high = _ends(bound, judged)
        return float(low[places].mean()), float(high[places].mean())

    facts = f"bounds {bound.key} {bound.measure.version}"
    ends = _of_runs(session, source, facts, runs, compute)
    return {run_id: Bounds(*of_run) for run_id, of_run in ends.items()}


def _ends(bound: BoundMeasure, judged: Judged) -> tuple[FloatArray, FloatArray]:
    lowest, highest = _ENDS[bound.measure.name]
    grade = max(1, int(judged.judgments.grades.max(initial=1)))
    own = bound.compute(judged)
    low = own if lowest is None else like(bound, lowest, grade).compute(judged)
    high = like(bound, highest, grade).compute(judged)
    if bound.measure.name in _ADDED:
        high = own + high
    return low, np.maximum(low, high)


def _of_runs(
    session: Session,
    source: Source,
    what: str,
    runs: Sequence[CoveredRun],
    compute: Callable[[Judged], tuple[float, float]],
) -> dict[int, tuple[float, float]]:
    """Run id -> two numbers of each run, computed once for its rankings under these judgments."""
    prefix = run_digest("coverage", VERSION, source, "", what)
    keys = {
        run.run_id: f"{prefix} {ranking_key(source, run.run_id, run.ranking_sha256, run.order_differs)}"
        for run in runs
    }
    numbers: dict[int, tuple[float, float]] = {}
    for run_id, key in keys.items():
        if (known := requests.kept.get(key)) is not None:
            numbers[run_id] = tuple(known["values"].tolist())
    missing = [run_id for run_id in keys if run_id not in numbers]
    if missing:
        for run_id, judged in alignments.alignments(session, source, missing).items():
            numbers[run_id] = compute(judged)
            requests.kept.put(keys[run_id], {"values": np.array(numbers[run_id])})
    return numbers


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
    shared = runs(shown)
    rows = tuple(
        row
        for row in shown.rows
        if _matches(row, viewer, wish, details) and not (wish.independent and row.run_id in shared)
    )
    pinned = () if wish.in_line else tuple(row for row in rows if row.kind == BASELINE)
    extras = _extras(shown, wish)
    covered = _coverage(session, shown)
    stated = facts_columns_of(shown.rows, wish.columns) if details else ()
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
        outside=outside_the_pool(covered),
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
    return coverage(session, shown.source, parse(shown.sorted_by), _scored(shown))


def _bounds(session: Session, shown: Board) -> tuple[dict[int, Bounds], str]:
    """How low and high each run's value could be, and what that says of the order."""
    by = parse(shown.sorted_by)
    if not has_bounds(by):
        return {}, (
            f"How low and high {shown.sorted_by} could be under unjudged documents is not known; it is for "
            "AP, nDCG, P, RR and RBP."
        )
    assert shown.source is not None, "asked for where scores by topic are shown"
    bounds = coverage_bounds(session, shown.source, by, _scored(shown))
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
