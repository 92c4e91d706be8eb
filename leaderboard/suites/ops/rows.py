"""Runs of a suite: what its board, its changes and its pairs say, as rows; of files and of a site alike."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Annotated, Any

import numpy as np

from leaderboard.errors import Invalid
from leaderboard.measures.record import refusal
from leaderboard.scoring.ops.statistics.standings import too_few_topics
from leaderboard.stats.pairs.condensed import square
from leaderboard.stats.seeds import seed
from leaderboard.stats.standing import topics_of_undecided, topics_to_decide, widest_pair
from leaderboard.stats.suites import (
    FEW_MEMBERS,
    MEANS,
    RESAMPLES,
    Board,
    By,
    Change,
    Drawn,
    MemberPairs,
    board,
    bootstrap_ends,
    change_of_suite,
    resampled_aggregates,
)
from leaderboard.tables.record import Place, Shown, counted, finite
from leaderboard.trec.suites import Member, SuiteScores, meant


@dataclass(frozen=True, slots=True)
class SuiteBoardRequest:
    """A request for a suite board: ranking, resampled units, groups and baseline."""

    by: By = "mean"
    drawn: Drawn = "topics"
    groups: tuple[tuple[str, str], ...] = ()
    baseline: str = ""
    bootstrap: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class SuiteBoard:
    """A suite's runs over the members that count, best first; place: of a run in the board."""

    scores: SuiteScores
    asked: SuiteBoardRequest
    members: tuple[Member, ...]
    board: Board
    order: tuple[int, ...]
    lower_is_better: bool


@dataclass(frozen=True, slots=True)
class BoardRow:
    """One run; low and high are its rank range, None if significance is not tested.

    run_id, team and kind are of a site's suite runs: 0 and empty for files.
    """

    run: str
    rank: int | None
    present: int
    members: int
    values: Mapping[By, float | None]
    low: Annotated[int | None, Shown(key="rank_low", shown=Place.DATA)]
    high: Annotated[int | None, Shown(key="rank_high", shown=Place.DATA)]
    may_be_best: Annotated[bool, Shown(shown=Place.DATA)]
    means: tuple[float | None, ...]
    run_id: int = 0
    team: str = ""
    kind: str = ""
    is_own: bool = False


@dataclass(frozen=True, slots=True)
class ChangeRow:
    """A run's change from the reference to a member."""

    run: str
    member: str
    change: Change


@dataclass(frozen=True, slots=True)
class PairRow:
    """Two runs by the aggregate, the first less the second; unknown ends are None."""

    a: str
    b: str
    difference: float
    error: float
    freedom: float | None
    t: float | None
    p: float
    adjusted: float
    low: float | None
    high: float | None
    better: str
    needed: int | None
    """Approximate number of topics or members to decide an undecided pair; None if more would not help."""


def suite_board(scores: SuiteScores, asked: SuiteBoardRequest) -> SuiteBoard:
    """The board of the members that the groups leave.

    Raises Invalid if none is left, or if measures or requests are incompatible.
    """
    members = _members(scores, asked.groups)
    lower = _lower_is_better(scores, members)
    _require_sense(scores, asked)
    try:
        computed = board(scores.of(members), by=asked.by, drawn=asked.drawn, lower_is_better=lower)
    except ValueError as error:
        raise Invalid(f"This cannot be computed: {error}.") from error
    places = range(len(scores.runs))
    ranks = [rank or len(places) + 1 for rank in computed.ranks]
    order = sorted(
        places, key=lambda place: (ranks[place], -computed.present[place], scores.runs[place].name)
    )
    return SuiteBoard(scores, asked, members, computed, tuple(order), lower)


def board_rows(of: SuiteBoard) -> list[BoardRow]:
    """The runs, best first; those without a rank last."""
    board, places = of.board, {run: at for at, run in enumerate(of.board.complete)}
    rows = []
    for run in of.order:
        at = places.get(run)
        verdicts = board.verdicts if at is not None else None
        rows.append(
            BoardRow(
                run=of.scores.runs[run].name,
                rank=board.ranks[run],
                present=int(board.present[run]),
                members=board.members,
                values={name: finite(values[run]) for name, values in board.values.items()},
                low=None if verdicts is None else int(verdicts.rank_low[at]),
                high=None if verdicts is None else int(verdicts.rank_high[at]),
                may_be_best=verdicts is not None and bool(verdicts.may_be_best[at]),
                means=tuple(finite(mean) for mean in board.means[run].tolist()),
            )
        )
    return rows


def change_rows(of: SuiteBoard) -> list[ChangeRow]:
    """Every run's changes from the reference to the other members of its measure, members in their order."""
    reference, scores = of.scores.suite.reference, of.scores
    if not reference:
        return []
    name = of.asked.baseline or scores.suite.baseline
    baseline = next((run for run in scores.runs if run.name == name), None)
    rows = []
    for place in of.order:
        run = scores.runs[place]
        for member in _changing(of):
            if not {reference, member} <= run.scores.keys():
                continue
            baseline_has_both = baseline is not None and {reference, member} <= baseline.scores.keys()
            there = (
                (baseline.scores[reference], baseline.scores[member])
                if baseline and baseline_has_both
                else None
            )
            change = change_of_suite(run.scores[reference], run.scores[member], there)
            rows.append(ChangeRow(run.name, member, change))
    return rows


def pair_rows(of: SuiteBoard) -> list[PairRow]:
    """All pairs of complete runs in board order; none if significance is not tested."""
    compared, board = of.board.pairs, of.board
    if compared is None:
        return []
    low, high = _ends(of) if of.asked.bootstrap else (compared.table.low, compared.table.high)
    number = square(np.arange(len(low)), len(board.complete), mirrored=1)
    places = {run: place for place, run in enumerate(board.complete)}
    order = [places[run] for run in of.order if run in places]
    needed: tuple[int | None, ...] = (None,) * len(low)
    if board.verdicts is not None:
        needed = topics_of_undecided(compared.table, board.verdicts, compared.units, board.verdicts.signs)
    return [
        _pair_row(of, compared, first, second, (float(low[pair]), float(high[pair])), needed[pair], pair)
        for first, second in combinations(order, 2)
        for pair in [int(number[first, second])]
    ]


def _pair_row(
    of: SuiteBoard,
    compared: MemberPairs,
    first: int,
    second: int,
    ends: tuple[float, float],
    needed: int | None,
    pair: int,
) -> PairRow:
    """A pair of complete runs by their places, turned so that the first is the one nearer the top."""
    board, table = of.board, compared.table
    turn = (1 if first < second else -1) * (-1 if of.lower_is_better else 1)
    first_name, second_name = (of.scores.runs[board.complete[place]].name for place in (first, second))
    low, high = sorted((turn * ends[0], turn * ends[1]))
    decided = 0 if board.verdicts is None else int(board.verdicts.signs[first, second])
    return PairRow(
        a=first_name,
        b=second_name,
        difference=turn * float(table.difference[pair]) + 0.0,
        error=float(compared.error[pair]),
        freedom=finite(compared.freedom[pair]),
        t=finite(turn * compared.t[pair] + 0.0),
        p=float(table.p[pair]),
        adjusted=float(table.adjusted[pair]),
        low=finite(low),
        high=finite(high),
        better={1: first_name, -1: second_name}.get(decided, ""),
        needed=needed,
    )


def too_few(of: SuiteBoard) -> str:
    """The note that topics or members are too few to rank the runs, with the number needed; empty otherwise.

    For topics resampled within each member: the total over all members, each with its share.
    """
    board = of.board
    if board.pairs is None or board.verdicts is None or not board.verdicts.too_few:
        return ""
    table, units = board.pairs.table, board.pairs.units
    runs, widest = counted(len(board.complete), "run"), widest_pair(table)
    if not np.isfinite(table.high[widest]):
        return (
            f"A member with a single topic has no variance, so these {runs} cannot be ranked with confidence."
        )
    needed = topics_to_decide(table, board.verdicts, units, widest)
    return too_few_topics(runs, units, needed, drawn_noun(of))


def drawn_noun(of: SuiteBoard) -> str:
    """The noun for the resampled unit."""
    return "member" if of.asked.drawn == "members" else "topic"


def remarks(of: SuiteBoard) -> Iterator[str]:
    """The remarks on the board, as sentences, including missing members of runs."""
    if sentence := too_few(of):
        yield sentence
    yield from general_remarks(of)
    for run in of.scores.runs:
        if run.missing:
            counted = " (each counts as an empty run)" if of.scores.suite.missing_is_empty else ""
            yield f"{run.name} has no run for {', '.join(run.missing)}{counted}."
    counting = {member.name for member in of.members}
    yield from (note for note in of.scores.notes if note.partition(":")[0] in counting)


def general_remarks(of: SuiteBoard) -> Iterator[str]:
    """The remarks on the board that do not depend on its runs."""
    if of.asked.groups:
        groups = ", ".join(f"{key}={value}" for key, value in of.asked.groups)
        yield f"Members that count ({groups}): {', '.join(member.name for member in of.members)}."
    if of.asked.by == "borda":
        yield "Borda points depend on the set of runs: another run can reverse the order of two runs."
    if of.asked.by not in MEANS:
        yield "Significance is tested for means only."
    elif of.asked.drawn == "members" and len(of.members) < FEW_MEMBERS:
        yield f"With fewer than {FEW_MEMBERS} members, confidence over members like these is weak."


def _members(scores: SuiteScores, groups: Sequence[tuple[str, str]]) -> tuple[Member, ...]:
    members = scores.suite.members
    for key, value in groups:
        values = tuple(
            sorted({member.groups[key] for member in scores.suite.members if key in member.groups})
        )
        if value not in values:
            remedy = meant(value, values) if values else f"No member has the group {key}."
            raise Invalid(f"There is no {key} {value}. {remedy}")
        members = tuple(member for member in members if member.groups.get(key) == value)
    if not members:
        raise Invalid("No member is in all of these groups; choose fewer groups.")
    return members


def _lower_is_better(scores: SuiteScores, members: Sequence[Member]) -> bool:
    directions = set()
    for member in members:
        measure = scores.measures[member.name].measure
        if reason := refusal(measure):
            raise Invalid(f"{member.name}: {reason}")
        directions.add(measure.direction)
    if len(directions) > 1:
        raise Invalid(
            "Higher is better for some members' measures and lower for others, so they have no mean."
        )
    return directions == {"lower"}


def _require_sense(scores: SuiteScores, asked: SuiteBoardRequest) -> None:
    if asked.by == "macro" and not scores.suite.macro:
        raise Invalid(
            'Macro means need groups: write `macro = "domain"` (or language, lag) in the suite file.'
        )
    names = tuple(run.name for run in scores.runs)
    if asked.baseline and asked.baseline not in names:
        raise Invalid(f"{asked.baseline} is not one of the runs. {meant(asked.baseline, names)}")


def _changing(of: SuiteBoard) -> list[str]:
    """The members that changes lead to: those that count, but the reference, and are measured like it."""
    reference, measures = of.scores.suite.reference, of.scores.measures
    names = [member.name for member in of.members if member.name != reference]
    return [name for name in names if measures[name].key == measures[reference].key]


def _ends(of: SuiteBoard) -> tuple[Any, Any]:
    """Bootstrap intervals of all pairs of complete runs, higher is better."""
    board, members = of.board, of.scores.of(of.members)
    sign = -1 if of.lower_is_better else 1
    stacked = [
        sign * np.stack([scores for run in board.complete if (scores := member.scores[run]) is not None])
        for member in members
    ]
    names = [of.scores.runs[run].name for run in board.complete]
    drawn = resampled_aggregates(
        stacked,
        board.weights,
        of.asked.drawn,
        [member.topics for member in members],
        seed=seed(of.scores.suite.name, of.asked.by, of.asked.drawn, *names),
        resamples=RESAMPLES,
    )
    return bootstrap_ends(drawn)
