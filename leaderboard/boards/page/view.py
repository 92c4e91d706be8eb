"""A view of a board: selected rows and columns, and bounds of scores.

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

from leaderboard.boards.ops.board import Board
from leaderboard.boards.ops.rows import AnswersBasis, Row
from leaderboard.boards.page.efficiency import front_of
from leaderboard.core import policy
from leaderboard.core.phase_rules import public_part
from leaderboard.core.policy import Viewer
from leaderboard.db.tables import Edition
from leaderboard.measures.binding import BoundMeasure, like
from leaderboard.measures.bounds.ndcg import NDCG_MAX, NDCG_MIN
from leaderboard.measures.bounds.scores import AP_MAX, AP_MIN, P_MAX, RR_MAX
from leaderboard.measures.judged import FloatArray, Judged
from leaderboard.measures.naming import parse
from leaderboard.measures.rank_biased import RBP_RESIDUAL
from leaderboard.measures.record import Measure
from leaderboard.memory import keep
from leaderboard.scoring.ops import board_measures, rankings, run_facts
from leaderboard.scoring.ops.board_measures import depth as depth_of
from leaderboard.scoring.ops.evaluations.shown import Source, means, ranking_key, run_digest
from leaderboard.scoring.ops.run_facts import COST_OF, LONGEST_CHOICE, MOST_VALUES, Fact, facts, nameless
from leaderboard.scoring.ops.scored_topics import MeasureColumn
from leaderboard.scoring.ops.statistics import requests
from leaderboard.scoring.ops.statistics.requests import WaitingResult
from leaderboard.scoring.ops.statistics.standings import Standing
from leaderboard.tables.record import counted
from leaderboard.trec.facts import FIELDS

MOST_OFFERED = 60
"""Maximum number of facts offered for filtering, since a header may have any number."""
_NOTHING = ("", "{}", "null")


@dataclass(frozen=True, slots=True)
class FieldChoice:
    """A fact stated by some runs; values: filter values, empty if they do not distinguish runs."""

    key: str
    title: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FactColumn:
    """A fact as a column: the stated value by run id."""

    key: str
    title: str
    is_number: bool
    values: dict[int, Fact]


def of_row(row: Row) -> dict[str, Fact]:
    """Key -> fact stated by the run; empty if its metadata is hidden from the viewer."""
    return {} if row.details in _NOTHING else _read(row.details, row.masked)


def matches(row: Row, key: str, value: str) -> bool:
    """Whether the run states the fact, with this value if one is given."""
    fact = of_row(row).get(key)
    return fact is not None and (not value or fact.text.casefold() == value.casefold())


def choices_of(rows: Iterable[Row]) -> tuple[FieldChoice, ...]:
    """Facts stated by any of the runs: those of the form first, then by title."""
    stated = frozenset((row.details, row.masked) for row in rows if row.details not in _NOTHING)
    return _facts_choices(stated) if stated else ()


def facts_columns_of(rows: Iterable[Row], keys: Iterable[str]) -> tuple[FactColumn, ...]:
    """One column for each key stated by any run, in order."""
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


# The cache key is the parsed text itself, so cached values are the same for every reader.


@keep
def _read(details: str, masked: bool) -> dict[str, Fact]:
    """Facts in a run's stored metadata; for a masked run only those that do not identify its team."""
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
"""Facts about the models that a run uses."""


def runs(shown: Board) -> dict[int, str]:
    """Run id -> model families that the run shares with the judgments, for runs that share any."""
    if shown.answers is None or not shown.answers.families:
        return {}
    stated = {row.run_id: of_row(row) for row in shown.rows}
    shared = {
        run_id: shown.answers.shared_with(*(facts[key].text for key in STATED if key in facts))
        for run_id, facts in stated.items()
    }
    return {run_id: ", ".join(sorted(names)) for run_id, names in shared.items() if names}


def of_run(answers: AnswersBasis | None, details: Mapping[str, Any]) -> str:
    """Model families that one run shares with the judgments, by its stored metadata."""
    if answers is None or not answers.families:
        return ""
    stated = (run_facts.fact(details, key) for key in STATED)
    return ", ".join(sorted(answers.shared_with(*(fact.text for fact in stated if fact is not None))))


VERSION = 1
WELL_JUDGED = 0.9
"""A run with at least this share of its top judged always counts as pooled."""
APART = 0.05
"""Minimum distance below the median run's share: half a document of the top ten."""
FIELD_JUDGED = 0.8
"""If less of the median run's top is judged, judgments are sparse for all and no run is marked outside."""

_ENDS: dict[str, tuple[Measure | None, Measure]] = {
    "AP": (AP_MIN, AP_MAX),
    "P": (None, P_MAX),
    "RR": (None, RR_MAX),
    "nDCG": (NDCG_MIN, NDCG_MAX),
    "RBP": (None, RBP_RESIDUAL),
}
"""Measure -> functions for its lowest value (None: the value itself) and its highest."""
_ADDED = frozenset({"RBP"})
"""Measures whose highest value is computed as an increment."""


@dataclass(frozen=True, slots=True)
class CoveredRun:
    """A run of a board: id, digest of its rankings, whether 32-bit scores order them differently."""

    run_id: int
    ranking_sha256: str
    order_differs: bool


@dataclass(frozen=True, slots=True)
class Coverage:
    """Judged shares of a run, as means over the topics that it ranks documents for."""

    unjudged: float
    """The share of unjudged documents down to the measure's depth, 0 to 1."""
    judged_top: float
    """The share of judged documents in the top ten, 0 to 1."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Lowest and highest possible mean of a run if its unjudged documents were judged."""

    low: float
    high: float


def coverage(
    session: Session, source: Source, bound: BoundMeasure, runs: Sequence[CoveredRun]
) -> dict[int, Coverage]:
    """Run id -> judged shares; runs without rankings on these topics are omitted.

    At most two statements, none if cached.
    """
    cutoff = board_measures.depth(bound)
    shares = _stored(session, source, cutoff, runs) if len(runs) >= board_measures.LEAST_RUNS else None
    if shares is None:
        compute = partial(board_measures.shares, source=source, cutoff=cutoff)
        shares = _of_runs(session, source, f"coverage@{cutoff}", runs, compute)
    return {run_id: Coverage(*of_run) for run_id, of_run in shares.items() if not np.isnan(of_run[0])}


def _stored(
    session: Session, source: Source, cutoff: int | None, runs: Sequence[CoveredRun]
) -> dict[int, tuple[float, float]] | None:
    """Stored coverage of the whole board; None if not computed, or not for these runs."""
    keys = {
        run.run_id: ranking_key(source, run.run_id, run.ranking_sha256, run.order_differs) for run in runs
    }
    request = requests.of_coverage(source, cutoff, keys)
    result = requests.find(session, request)
    if isinstance(result, WaitingResult):
        return None
    return dict(zip(request.run_ids, map(tuple, result["shares"].tolist()), strict=True))


def outside_the_pool(coverages: dict[int, Coverage]) -> frozenset[int]:
    """Ids of runs with clearly fewer judged documents, whose scores are likely too low.

    The pooled runs are unknown here, so they are inferred from the judgments: a run is outside if less than
    nine tenths of its top ten is judged, and its share is more than .05 below the median run's. The whole
    top of a pooled run is judged if the pool depth is at least ten. Half a document of
    ten, if half of such documents are relevant, moves P@10 by .025. Where the median run has less than
    eight tenths judged, none is outside: with sparse judgments the share reflects how good a run is, not
    whether it was pooled. The bias against unpooled runs is measured by Büttcher, Clarke, Yeung and Soboroff,
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
    """Whether the measure has bounds under unjudged documents."""
    plain = bound.params.get("gains") is None and bound.params.get("ideal", "judged") == "judged"
    return bound.measure.name in _ENDS and plain and not bound.params.get("judged_only")


def coverage_bounds(
    session: Session, source: Source, bound: BoundMeasure, runs: Sequence[CoveredRun]
) -> dict[int, Bounds]:
    """Run id -> bounds of its mean; empty if the measure has none.

    An unjudged document may have any grade up to the highest one assigned. At most two statements, none if
    cached; otherwise about two milliseconds per run.
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
    """Run id -> two numbers per run, cached for its rankings under these judgments."""
    prefix = run_digest("coverage", VERSION, source, "", what)
    keys = {
        run.run_id: f"{prefix} {ranking_key(source, run.run_id, run.ranking_sha256, run.order_differs)}"
        for run in runs
    }
    numbers: dict[int, tuple[float, float]] = {}
    for run_id, key in keys.items():
        if (arrays := requests.kept.get(key)) is not None:
            numbers[run_id] = tuple(arrays["values"].tolist())
    missing = [run_id for run_id in keys if run_id not in numbers]
    if missing:
        for run_id, judged in rankings.alignments(session, source, missing).items():
            numbers[run_id] = compute(judged)
            requests.kept.put(keys[run_id], {"values": np.array(numbers[run_id])})
    return numbers


BASELINE = "baseline"
UNJUDGED, BOUNDS, RANGES, PLACES, MEANS = "unjudged", "bounds", "ranges", "places", "means"
MOVED = "moved"
EXTRAS = (UNJUDGED, BOUNDS, RANGES, PLACES, MEANS, MOVED)
"""Columns that are neither measures nor run facts, by name in the address."""
RANGES_UP_TO = 20
"""Ranked runs of a board that shows rank ranges without being asked."""


@dataclass(frozen=True, slots=True)
class BoardChoice:
    """The requested filters and columns; empty means none."""

    search: str = ""
    """Words that must all occur in a run's name, team, tag or description."""
    team: str = ""
    kind: str = ""
    tag: str = ""
    field: str = ""
    """Key of a run fact to filter by: runs with the value if given, otherwise with any value."""
    value: str = ""
    own: bool = False
    """Whether to show only runs of the viewer's teams."""
    independent: bool = False
    """Whether to show only runs without a model of a family that made the judgments."""
    columns: tuple[str, ...] = ()
    """Measures, facts and extras; by default all measures and the extras that suit the board."""
    in_line: bool = False
    """Whether baselines are placed by score instead of above the others."""
    bounds: bool = False
    ranges: bool = False

    @property
    def filters(self) -> bool:
        """Whether any filter is set."""
        return any((self.search, self.team, self.kind, self.tag, self.field, self.own, self.independent))


@dataclass(frozen=True, slots=True)
class Choices:
    """Filter values available to the viewer."""

    teams: tuple[str, ...]
    kinds: tuple[str, ...]
    fields: tuple[FieldChoice, ...]
    own: int
    """The number of runs of the viewer's teams."""
    baselines: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicPlace:
    """Rank of a run on the public topics, among runs ranked on the board."""

    score: float
    rank: int
    moved: int
    """Ranks gained on the board relative to the public topics."""


def public_places(session: Session, shown: Board) -> dict[int, PublicPlace]:
    """Run id -> rank on the public topics of a blind phase's board; one statement.

    Empty for other phases, and for readers who may not see the hidden topics.
    """
    source = shown.source
    ranked = [row for row in shown.rows if row.rank is not None]
    if shown.visibility != "blind" or source is None or not shown.access.details or not ranked:
        return {}
    edition = session.get_one(Edition, source.edition_id)
    by = shown.by
    public = values_by(means(session, edition, public_part(shown.access.topic_set), keys=(by.key,)), by.key)
    return _public_places(ranked, public, by.sign)


def values_by(scores: dict[int, dict[str, float]], key: str) -> dict[int, float]:
    """Run id -> value by one measure, for runs that have one."""
    return {run_id: of_run[key] for run_id, of_run in scores.items() if key in of_run}


def _public_places(ranked: list[Row], public: dict[int, float], sign: int) -> dict[int, PublicPlace]:
    rows = [row for row in ranked if row.run_id in public]
    values = sorted((sign * public[row.run_id] for row in rows), reverse=True)

    def place(row: Row) -> PublicPlace:
        score = public[row.run_id]
        rank = 1 + values.index(sign * score)
        return PublicPlace(score=score, rank=rank, moved=rank - (row.rank or rank))

    return {row.run_id: place(row) for row in rows}


@dataclass(frozen=True, slots=True)
class View:
    """The rows and columns of a board to show."""

    board: Board
    choice: BoardChoice
    baselines: tuple[Row, ...]
    """Unranked rows above the others; empty if placed by score."""
    rows: tuple[Row, ...]
    total: int
    """The number of runs on the whole board."""
    measures: tuple[MeasureColumn, ...]
    facts: tuple[FactColumn, ...]
    extras: frozenset[str]
    choices: Choices
    depth: str
    """The range of the unjudged share, as text, such as `top 10`."""
    coverage: dict[int, Coverage] = field(default_factory=dict)
    """Run id -> judged shares; empty while hidden."""
    outside: frozenset[int] = frozenset()
    """Runs with clearly fewer judged documents than the others."""
    bounds: dict[int, Bounds] = field(default_factory=dict)
    bounds_note: str = ""
    """Sentence on the order under the bounds, or why there are none; empty if not requested."""

    fronts: Mapping[str, frozenset[int]] = field(default_factory=dict)
    """Key of a shown cost -> runs on the Pareto front of this cost and the board's measure."""
    circular: Mapping[int, str] = field(default_factory=dict)
    """Run id -> model families that it declares and that made the judgments, as text."""
    public: dict[int, PublicPlace] = field(default_factory=dict)
    """Run id -> rank on the public topics of a blind task; empty while other topics are hidden."""

    @property
    def listed(self) -> int:
        """The number of runs after filtering."""
        return len(self.baselines) + len(self.rows)

    @property
    def sentences(self) -> tuple[str, ...]:
        """Sentences on the order, with a note if not all runs are shown."""
        # Notes on judgments of answers are shown above the order.
        above = self.board.answers.sentences if self.board.answers else ()
        return tuple(sentence for sentence in self.all_sentences if sentence not in above)

    @property
    def all_sentences(self) -> tuple[str, ...]:
        """The sentences, with those on the judgments of answers."""
        return self.board.sentences + self._about_all

    @property
    def _about_all(self) -> tuple[str, ...]:
        standing = self.board.standing
        if not isinstance(standing, Standing) or standing.topics < 2:
            return ()
        shown = [row.run_id for row in self.all_rows if row.run_id in standing.places]
        if len(shown) == len(standing.run_ids):
            return ()
        about = f"Verdicts compare all {counted(len(standing.run_ids), 'ranked run')}; {len(shown):,} "
        about += "is shown." if len(shown) == 1 else "are shown."
        if len(shown) < 2:
            return (about,)
        unbeaten = standing.unbeaten(shown)
        losses = "has no significant loss" if unbeaten == 1 else "have no significant loss"
        return (f"{about} Of these, {unbeaten:,} {losses} to another shown run.",)

    @property
    def cuts(self) -> frozenset[int]:
        """Listed runs after which the ranking has a significant cut: each run above beats each below."""
        standing = self.board.standing
        if not isinstance(standing, Standing):
            return frozenset()
        return standing.cuts([row.run_id for row in self.rows if row.run_id in standing.places])

    @property
    def all_rows(self) -> tuple[Row, ...]:
        """All rows after filtering, in display order."""
        return self.baselines + self.rows


def view(session: Session, viewer: Viewer, shown: Board, choice: BoardChoice) -> View:
    """The view of a board for a request; at most five statements, none if all is cached.

    Names of unknown or hidden columns are ignored.
    """
    details = shown.access.details
    shared = runs(shown)
    rows = tuple(
        row
        for row in shown.rows
        if _matches(row, viewer, choice, details) and not (choice.independent and row.run_id in shared)
    )
    pinned = () if choice.in_line else tuple(row for row in rows if row.kind == BASELINE)
    extras = _extras(shown, choice)
    covered = _coverage(session, shown)
    stated = facts_columns_of(shown.rows, choice.columns) if details else ()
    bounds, bounds_note = _bounds(session, shown) if BOUNDS in extras else ({}, "")
    return View(
        board=shown,
        choice=choice,
        baselines=pinned,
        rows=rows if choice.in_line else tuple(row for row in rows if row.kind != BASELINE),
        total=len(shown.rows),
        measures=_measures(shown, choice),
        facts=stated,
        extras=extras,
        choices=_choices(viewer, shown),
        depth=_depth(shown.sorted_by),
        coverage=covered,
        outside=outside_the_pool(covered),
        bounds=bounds,
        bounds_note=bounds_note,
        circular=shared,
        fronts={fact.key: front_of(shown.rows, fact.key, shown.by) for fact in stated if fact.key in COST_OF},
        public=public_places(session, shown),
    )


def _matches(row: Row, viewer: Viewer, choice: BoardChoice, details: bool) -> bool:
    """Whether a row matches the filters, by name and team as shown to the viewer."""
    if choice.own and not policy.owns(viewer, row.team_id):
        return False
    if (choice.team and row.team != choice.team) or (choice.kind and row.kind != choice.kind):
        return False
    if choice.tag and row.tag != choice.tag:
        return False
    if choice.field and not (details and matches(row, choice.field, choice.value)):
        return False
    if not choice.search:
        return True
    text = "\n".join((row.run, row.team, row.tag, row.description)).casefold()
    return all(word in text for word in choice.search.casefold().split())


def _measures(shown: Board, choice: BoardChoice) -> tuple[MeasureColumn, ...]:
    """The requested columns in board order, always with the ranking measure."""
    if not choice.columns:
        return shown.measures
    keys = {*choice.columns, shown.sorted_by}
    return tuple(measure for measure in shown.measures if measure.key in keys)


def _extras(shown: Board, choice: BoardChoice) -> frozenset[str]:
    if choice.columns:
        extras = set(EXTRAS) & set(choice.columns)
    else:
        extras = {UNJUDGED, PLACES, MEANS, MOVED} | (
            {RANGES} if 0 < len(shown.places) <= RANGES_UP_TO else set()
        )
    extras |= {name for name, asked in ((BOUNDS, choice.bounds), (RANGES, choice.ranges)) if asked}
    if shown.source is None or (shown.basis is not None and not shown.basis.dialect):
        extras -= {UNJUDGED, BOUNDS}
    if shown.before is None:
        extras -= {MOVED}
    return frozenset(extras if shown.places else extras - {RANGES, PLACES, MEANS})


def _choices(viewer: Viewer, shown: Board) -> Choices:
    return Choices(
        teams=tuple(sorted({row.team for row in shown.rows if row.team}, key=str.casefold)),
        kinds=tuple(sorted({row.kind for row in shown.rows})),
        fields=choices_of(shown.rows) if shown.access.details else (),
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
    # Answers have no judged documents.
    if shown.source is None or (shown.basis is not None and not shown.basis.dialect):
        return {}
    return coverage(session, shown.source, parse(shown.sorted_by), _scored(shown))


def _bounds(session: Session, shown: Board) -> tuple[dict[int, Bounds], str]:
    """Bounds of each run's value, with a sentence on the order."""
    by = parse(shown.sorted_by)
    if not has_bounds(by):
        return {}, (
            f"No bounds of {shown.sorted_by} for unjudged documents are available, only those of AP, nDCG, "
            "P, RR and RBP."
        )
    assert shown.source is not None, "asked for where scores by topic are shown"
    bounds = coverage_bounds(session, shown.source, by, _scored(shown))
    ranked = [bounds[row.run_id] for row in shown.rows if row.rank is not None]
    return bounds, _order_by_bounds(ranked)


def _order_by_bounds(ranked: list[Bounds]) -> str:
    """Sentence on how many neighbours could change places; best first, higher is better."""
    if len(ranked) < 2:
        return ""
    flips = sum(below.high > above.low for above, below in pairwise(ranked))
    pairs = len(ranked) - 1
    if not flips:
        return "No possible judgment of the unjudged documents would swap a run with its neighbour."
    swaps = f"{flips:,} of {pairs:,} neighbouring pairs could swap"
    return f"By these bounds, {swaps} if the unjudged documents were judged."
