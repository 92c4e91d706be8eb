"""What a board says about itself: would other topics give its order, how small a difference do these show."""

from dataclasses import dataclass

from sqlalchemy.orm import Session

from leaderboard.measures.naming import parse
from leaderboard.services.boards.board import Board
from leaderboard.services.statistics import requests, standings
from leaderboard.services.statistics.requests import Request, WaitingResult
from leaderboard.stats.arrays import Arrays

PROCEDURE = "reliability"


@dataclass(frozen=True, slots=True)
class Reliability:
    """Of the ranked runs of a board on its topics, by the measure it is ranked by.

    Differences are as the board prints its values: of means over topics, or of sums.
    """

    runs: int
    topics: int
    pairs: int
    measure: str
    digits: int
    order: float
    """E ρ², from 0 to 1."""
    absolute: float
    """Φ, from 0 to 1."""
    enough_topics: int | None
    """The fewest topics for an E ρ² of .95; None where the runs do not differ."""
    shares: tuple[float, float, float] | None
    """Of the variance of scores: between runs, between topics, the rest; None where all scores are equal."""
    sd: float
    """The median over pairs of runs of the standard deviation of their differences by topic."""
    planned: float | None
    """The smallest true difference found with 80% power: of one pair chosen beforehand.

    None where no difference that the measure can have is large enough.
    """
    any: float | None
    """The same for any pair, tested at 2.5% over the number of pairs."""
    planned_topics: int
    """The fewest topics that show half of planned."""
    any_topics: int
    half_width: float
    """Of the 95% interval of a difference with that sd."""
    halves: float
    """The median τ_b between the orders by two random halves of the topics."""
    halves_low: float
    """The 5th percentile."""
    halves_high: float
    """The 95th percentile."""


def of_board(session: Session, shown: Board) -> Reliability | WaitingResult | None:
    """The reliability of a board; Waiting where it takes a job, None where nothing can be said.

    That is so while scores by topic are held back, by a measure that is not a mean over topics, and for fewer
    than two ranked runs or topics. At most one statement, none where it is in memory.
    """
    arrays = result(session, shown, PROCEDURE)
    if arrays is None or isinstance(arrays, WaitingResult):
        return arrays
    return _reliability(shown, {name: float(value.astype(float)) for name, value in arrays.items()})


def facts(about: Reliability | WaitingResult | None) -> dict[str, object] | None:
    """The reliability as plain values; None where there is none yet."""
    if not isinstance(about, Reliability):
        return None
    return {
        "order": about.order,
        "absolute": about.absolute,
        "variance_shares": list(about.shares) if about.shares else None,
        "topics_for_order_0.95": about.enough_topics,
        "sd_of_differences": about.sd,
        "smallest_difference_planned_pair": about.planned,
        "smallest_difference_any_pair": about.any,
        "topics_for_half_planned_pair": about.planned_topics,
        "topics_for_half_any_pair": about.any_topics,
        "interval_half_width": about.half_width,
        "split_half_tau": {"median": about.halves, "p5": about.halves_low, "p95": about.halves_high},
    }


def _reliability(shown: Board, of: dict[str, float]) -> Reliability:
    by = shown.by
    # A value that is a sum over topics differs by as many times what it differs by on a topic.
    scale = of["separate_topics"] if by.aggregate == "sum" else 1.0
    low, high = parse(by.key).measure.range
    widest = scale * (high - low)
    planned, any_pair = scale * of["separate_planned"], scale * of["separate_any"]
    total = of["runs"] + of["topics"] + of["residual"]
    shares = (of["runs"] / total, of["topics"] / total, of["residual"] / total) if total > 0 else None
    return Reliability(
        runs=sum(row.rank is not None for row in shown.rows),
        topics=int(of["separate_topics"]),
        pairs=int(of["separate_pairs"]),
        measure=by.key,
        digits=by.digits,
        order=of["order"],
        absolute=of["absolute"],
        enough_topics=int(of["enough_topics"]) or None,
        shares=shares,
        sd=of["separate_sd"],
        planned=planned if planned <= widest else None,
        any=any_pair if any_pair <= widest else None,
        planned_topics=int(of["separate_planned_topics"]),
        any_topics=int(of["separate_any_topics"]),
        half_width=scale * of["separate_half_width"],
        halves=of["halves_median"],
        halves_low=of["halves_low"],
        halves_high=of["halves_high"],
    )


def result(session: Session, shown: Board, procedure: str) -> Arrays | WaitingResult | None:
    """A procedure on the ranked runs, in the order of their ids, by the measure the board is ranked by.

    None where the board says nothing of how its runs stand to each other, or has fewer than two ranked
    runs or topics; Waiting where it takes a job. At most one statement, none where it is in memory.
    """
    request = _request(shown, procedure)
    if request is None:
        return None
    if (known := requests.kept.get(request.digest)) is not None:
        return known
    if request.seconds > requests.AT_ONCE_S:
        return requests.find(session, request)
    scores = standings.better_scores(session, request, shown.by.sign)
    return requests.kept.put(request.digest, standings.compute(request, scores))


def _request(shown: Board, procedure: str) -> Request | None:
    ranked = sorted((row.run_id, row.ranking_sha256) for row in shown.rows if row.rank is not None)
    if shown.standing is None or shown.source is None:
        return None
    if len(ranked) < 2 or len(shown.source.topics) < 2:
        return None
    return Request(
        procedure=procedure,
        method="",
        source=shown.source,
        measure=shown.by.key,
        measure_version=shown.by.version,
        run_ids=tuple(run_id for run_id, _ in ranked),
        rankings=tuple(digest for _, digest in ranked),
    )
