"""The tables of a round of labelling."""

from datetime import UTC
from typing import Any

from leaderboard.pages.labelling.progress import AssessorProgress, TopicProgress
from leaderboard.pages.labelling.round import ListAgreement, PairAgreement, RoundPage, facts
from leaderboard.tables.record import Column, Files, Table, columns_from


def assessors_table(page: RoundPage) -> Table[AssessorProgress]:
    """How far each assessor is."""
    columns = columns_from(AssessorProgress, "name topics done asked")
    if page.kind.labels:
        columns.append(Column("unsure", lambda row: row.unsure, "Cannot say", digits=0))
    else:
        columns.append(Column("nuggets", lambda row: row.written, "Nuggets", digits=0))
    columns.append(Column("last_at", _last, "Last"))
    what = "labels given, of those asked for" if page.kind.labels else "topics done, of those asked for"
    return Table(
        f"{page.slug}-labelling-{page.number}-assessors",
        f"Assessors of round {page.number} of {page.task}: {what}",
        columns,
        page.assessors,
    )


def topics_table(page: RoundPage) -> Table[TopicProgress]:
    """How far each topic is, and where its assessors differ."""
    columns = columns_from(TopicProgress, "topic_id assessors done asked twice disagreements open")
    return Table(
        f"{page.slug}-labelling-{page.number}-topics",
        f"Topics of round {page.number} of {page.task}",
        columns,
        page.topics,
    )


def pairs_table(page: RoundPage) -> Table[PairAgreement]:
    """How far two assessors agree on what both labelled."""
    columns = columns_from(
        PairAgreement,
        "first second items raw.value plain.value plain.low plain.high",
        Column("linear", lambda row: row.linear.value, "κ, linear", digits=3),
    )
    return Table(
        f"{page.slug}-labelling-{page.number}-agreement",
        f"Agreement in round {page.number} of {page.task}: Cohen's κ with its 95% interval",
        columns,
        page.pairs,
    )


def lists_table(page: RoundPage) -> Table[ListAgreement]:
    """How many nuggets two assessors wrote for a topic, and how many alike."""
    return Table(
        f"{page.slug}-labelling-{page.number}-lists",
        f"Topics of round {page.number} of {page.task} that two assessors have",
        columns_from(ListAgreement),
        page.lists,
    )


FILES = Files(
    facts=lambda page: {
        **facts(page),
        "assessors": assessors_table(page).facts(),
        "topics": topics_table(page).facts(),
        "pairs": pairs_table(page).facts(),
        "lists": lists_table(page).facts(),
    },
    tables={"assessors": assessors_table, "topics": topics_table, "pairs": pairs_table, "lists": lists_table},
)


def _last(row: AssessorProgress) -> Any:
    return row.last_at.astimezone(UTC).isoformat(timespec="seconds") if row.last_at else None
