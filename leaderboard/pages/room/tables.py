"""The tables of a judging room: runs, assessors, topics, the way of the agreement."""

from collections.abc import Callable
from typing import Any

from leaderboard.pages.room.agreement import AgreementPoint
from leaderboard.pages.room.orders import OrderedRun, RankBounds
from leaderboard.pages.room.pace import AssessorPace, TopicProgress
from leaderboard.pages.room.room import JudgingRoom
from leaderboard.tables.record import Column, Files, Place, Table


def runs_table(page: JudgingRoom) -> Table[OrderedRun]:
    """The runs by the labels so far, with what may still change."""
    order = page.numbers.order
    digits, measure = (order.digits, order.measure) if order else (4, "the measure")
    columns: list[Column[OrderedRun]] = [
        Column(key="rank", head="Rank", value=lambda row: row.rank, digits=0),
        Column(key="move", head="Move", value=lambda row: row.move, digits=0),
        Column(key="run", head="Run", value=lambda row: row.name),
        Column(key="run_id", value=lambda row: row.run_id, shown=Place.DATA),
        Column(key="team", head="Team", value=lambda row: row.team, shown=~Place.PAGE),
        Column(key="mean", head=measure, value=lambda row: row.mean, digits=digits),
        Column(key="board_rank", head="Board", value=lambda row: row.board_rank, digits=0),
        Column(key="ranks", head="May come to", value=lambda row: _ranks(row.soon), shown=Place.PAGE),
        *_range("soon", "Next", digits, lambda row: row.soon),
        *_range("later", "In the end", digits, lambda row: row.later),
        Column(key="holds", head="Holds", value=lambda row: row.holds, digits=0),
    ]
    return Table(
        name=page.name,
        caption=f"The ranked runs by mean {measure}, by the judgments so far.",
        columns=columns,
        rows=order.rows if order else (),
    )


def assessors_table(page: JudgingRoom) -> Table[AssessorPace]:
    """What each assessor did, and the last hour of it."""
    columns: list[Column[AssessorPace]] = [
        Column(key="assessor", head="Assessor", value=lambda row: row.judge.name),
        Column(key="hour", head="The last hour", value=lambda row: sum(row.counts), digits=0),
        Column(key="recent", head="10 min", value=lambda row: row.recent, digits=0),
        Column(key="judged", head="Judged", value=lambda row: row.judged, digits=0),
        Column(key="asked", head="Asked", value=lambda row: row.asked or None, digits=0, shown=~Place.PAGE),
        Column(key="last", head="Last", value=_last, shown=~Place.PAGE),
    ]
    caption = "Bars: judgments of two minutes each."
    return Table(name=f"{page.name}-assessors", caption=caption, columns=columns, rows=page.paces)


def topics_table(page: JudgingRoom) -> Table[TopicProgress]:
    """How much of each topic is judged."""
    columns: list[Column[TopicProgress]] = [
        Column(key="topic", head="Topic", value=lambda row: row.topic.topic_id),
        Column(key="title", head="Title", value=lambda row: row.topic.title),
        Column(key="documents", head="Documents", value=lambda row: row.topic.documents, digits=0),
        Column(key="judged", head="Judged", value=lambda row: row.judged, digits=0),
        Column(key="share", head="Share", value=lambda row: row.share, digits=3),
    ]
    caption = "Documents with a grade, by topic."
    return Table(name=f"{page.name}-topics", caption=caption, columns=columns, rows=page.numbers.topics)


def agreement_table(page: JudgingRoom) -> Table[AgreementPoint]:
    """How the agreement moved as judgments came in."""
    agreement = page.numbers.agreement
    columns: list[Column[AgreementPoint]] = [
        Column(key="judgments", head="Judgments", value=lambda row: row.judgments, digits=0),
        Column(key="alpha", head="Alpha", value=lambda row: row.alpha, digits=3),
    ]
    caption = f"Krippendorff’s alpha, {agreement.scale}, after so many judgments."
    return Table(name=f"{page.name}-agreement", caption=caption, columns=columns, rows=agreement.points)


def facts(page: JudgingRoom) -> dict[str, Any]:
    """The room as plain values."""
    numbers, order = page.numbers, page.numbers.order
    agreement = numbers.agreement
    return {
        "task": page.pool.slug,
        "pool": page.pool.number,
        "state": page.pool.state,
        "for_organisers": page.for_organisers,
        "judgments": numbers.judgments,
        "documents": page.pool.documents,
        "judged": numbers.judged,
        "last_ten_minutes": page.recent,
        "judged_by_several": agreement.double,
        "alpha": agreement.alpha.value,
        "scale": agreement.scale,
        "kappa": agreement.kappa.value,
        "raw_agreement": agreement.raw.value,
        "next": {
            "judgments": len(numbers.coming.soon),
            "documents": numbers.coming.documents,
            "topics": numbers.coming.topics,
            "left": numbers.coming.left,
            "ranks_that_may_change": order.changeable if order else None,
            "may_lead": [row.name for row in order.may_lead] if order else None,
        },
        "measure": order.measure if order else None,
        "topics_begun": order.topics if order else None,
        "moved_since": order.since if order else None,
        "swapped_pairs": order.swapped if order else None,
        "pairs": order.pairs if order else None,
        "why_no_order": page.why or None,
        "runs": runs_table(page).facts(),
        "assessors": assessors_table(page).facts(),
        "topics": topics_table(page).facts(),
        "agreement": agreement_table(page).facts(),
    }


FILES = Files(
    facts=facts,
    tables={
        "runs": runs_table,
        "assessors": assessors_table,
        "topics": topics_table,
        "agreement": agreement_table,
    },
)


def _range(
    key: str, head: str, digits: int, of: Callable[[OrderedRun], RankBounds | None]
) -> list[Column[OrderedRun]]:
    """The ends of a range of ranks and of means, for files."""

    def end(name: str) -> Callable[[OrderedRun], Any]:
        return lambda row: None if (found := of(row)) is None else getattr(found, name)

    names = {"first": ("rank from", 0), "last": ("to", 0), "low": ("from", digits), "high": ("to", digits)}
    return [
        Column(
            key=f"{key}_{name}",
            head=f"{head}: {words}",
            value=end(name),
            digits=decimals,
            shown=Place.DATA if name in ("low", "high") else ~Place.PAGE,
        )
        for name, (words, decimals) in names.items()
    ]


def _ranks(found: RankBounds | None) -> str | None:
    if found is None:
        return None
    return f"{found.first}–{found.last}" if found.is_open else str(found.first)


def _last(row: AssessorPace) -> str | None:
    return row.last_at.isoformat(timespec="seconds") if row.last_at else None
