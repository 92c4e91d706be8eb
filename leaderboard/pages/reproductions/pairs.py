"""Reproductions as rows: each run beside what it reproduces, with its levels as far as they are known."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy.orm import Session

from leaderboard.pages.reproductions.readable import NamedRun, ReadableRuns, readable_runs
from leaderboard.pages.scores.table import ScoreTable
from leaderboard.services.policy import Viewer
from leaderboard.services.reproductions.links import ReproductionLink
from leaderboard.services.statistics import orders
from leaderboard.services.statistics.orders import AskedOrder
from leaderboard.services.statistics.requests import WaitingResult
from leaderboard.stats.reproductions.documents import DocumentOrder
from leaderboard.stats.reproductions.levels import Levels, RunLevels, Thresholds, replicated, same_topics

Orders = Mapping[str, DocumentOrder | WaitingResult]
"""Digest of what is asked -> the order of documents, or how far it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairRow:
    """A run and the one that it reproduces; levels is None where they cannot be compared, and why says it.

    is_replication: the original is a run of another task, so only effects and means are compared. The
    baselines are None where none are named, or one of them cannot be compared: why_no_baseline.
    """

    run: NamedRun
    original: NamedRun
    baseline: NamedRun | None
    original_baseline: NamedRun | None
    is_replication: bool
    levels: Levels | None
    why: str = ""
    why_no_baseline: str = ""
    waiting: tuple[WaitingResult, ...] = ()
    """The orders of documents that are not computed yet."""

    @property
    def is_known(self) -> bool:
        """Whether all levels that there can be are known."""
        return self.levels is not None and not self.waiting


def pair_rows(
    session: Session,
    viewer: Viewer,
    links: Sequence[ReproductionLink],
    own: ScoreTable,
    thresholds: Thresholds,
    with_orders: Collection[int] = (),
) -> list[PairRow]:
    """A row for each link whose runs the viewer may compare, by names; own: the scores of the page's task.

    with_orders: the runs whose documents are compared too. A replication is left out where the viewer knows
    one of its runs by a pseudonym only: the name of the other may tell whose it is.
    """
    ids = {run_id for link in links for pair in link.pairs for run_id in pair}
    runs = readable_runs(session, viewer, ids, own.measure.key, own)
    shown = [link for link in links if _is_shown(link, runs)]
    asked = {
        pair: order
        for link in shown
        if link.run_id in with_orders and not link.is_replication
        for pair in link.pairs
        if (order := _asked(pair, runs)) is not None
    }
    known = orders.known(session, list(asked.values())) if asked else {}
    made = {pair: known[order.request.digest] for pair, order in asked.items()}
    rows = [_row(link, runs, made, thresholds) for link in shown]
    return sorted(rows, key=lambda row: (row.original.task, row.original.name, row.run.task, row.run.run_id))


def _is_shown(link: ReproductionLink, runs: ReadableRuns) -> bool:
    run, original = runs.name(link.run_id), runs.name(link.of.original)
    if run is None or original is None or run.is_withdrawn:
        return False
    named = [runs.name(run_id) for pair in link.pairs for run_id in pair]
    return not link.is_replication or not any(one is None or one.is_masked for one in named)


def _asked(pair: tuple[int, int], runs: ReadableRuns) -> AskedOrder | None:
    scored, table = [runs.scored(run_id) for run_id in pair], runs.table(pair[0])
    original, other = scored
    if table is None or original is None or other is None or runs.table(pair[1]) is not table:
        return None
    return orders.asked_order(table.source, original[0], other[0])


def _row(
    link: ReproductionLink,
    runs: ReadableRuns,
    made: Mapping[tuple[int, int], DocumentOrder | WaitingResult],
    thresholds: Thresholds,
) -> PairRow:
    advanced, *baselines = link.pairs
    run, original = runs.name(link.run_id), runs.name(link.of.original)
    assert run is not None, "rows that are not shown were left out"
    assert original is not None, "as above"
    new = _levels(advanced, runs, made, link)
    base = _levels(baselines[0], runs, made, link) if baselines else None
    lost = next((why for pair in baselines if (why := _why(pair, runs))), "")
    is_whole = not baselines or base is not None
    return PairRow(
        run=run,
        original=original,
        baseline=runs.name(link.of.baseline) if is_whole else None,
        original_baseline=runs.name(link.of.original_baseline) if is_whole else None,
        is_replication=link.is_replication,
        levels=None if new is None else Levels(base, new, thresholds),
        why=_why(advanced, runs) if new is None else "",
        why_no_baseline="" if is_whole else lost,
        waiting=tuple(one for pair in link.pairs if isinstance(one := made.get(pair), WaitingResult)),
    )


def _levels(
    pair: tuple[int, int],
    runs: ReadableRuns,
    made: Mapping[tuple[int, int], DocumentOrder | WaitingResult],
    link: ReproductionLink,
) -> RunLevels | None:
    one, two = (runs.scored(run_id) for run_id in pair)
    if one is None or two is None:
        return None
    if link.is_replication:
        return replicated(one[1], two[1])
    if runs.table(pair[0]) is not runs.table(pair[1]):
        return None
    order = made.get(pair)
    return same_topics(one[1], two[1], order if isinstance(order, DocumentOrder) else None)


def _why(pair: tuple[int, int], runs: ReadableRuns) -> str:
    """Which of two runs cannot be compared, and why; empty where both can."""
    for run_id in pair:
        if runs.scored(run_id) is None:
            named = runs.name(run_id)
            return f"{named.name} {runs.why(run_id)}" if named else "a baseline is not shown"
    return ""
