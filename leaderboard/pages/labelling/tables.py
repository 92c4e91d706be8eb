"""The tables of a round of labelling."""

from datetime import UTC
from typing import Any

from leaderboard.pages.labelling.progress import AssessorProgress, TopicProgress
from leaderboard.pages.labelling.round import ListAgreement, PairAgreement, RoundPage, facts
from leaderboard.tables.record import Column, Files, Table


def assessors_table(page: RoundPage) -> Table[AssessorProgress]:
    """How far each assessor is."""
    columns: list[Column[AssessorProgress]] = [
        Column(key="assessor", head="Assessor", value=lambda row: row.name),
        Column(key="topics", head="Topics", value=lambda row: row.topics, digits=0),
        Column(key="done", head="Done", value=lambda row: row.done, digits=0),
        Column(key="asked", head="Of", value=lambda row: row.asked, digits=0),
    ]
    if page.kind.labels:
        columns.append(Column(key="unsure", head="Cannot say", value=lambda row: row.unsure, digits=0))
    else:
        columns.append(Column(key="nuggets", head="Nuggets", value=lambda row: row.written, digits=0))
    columns.append(Column(key="last_at", head="Last", value=_last))
    what = "labels given, of those asked for" if page.kind.labels else "topics done, of those asked for"
    return Table(
        name=f"{page.slug}-labelling-{page.number}-assessors",
        caption=f"Assessors of round {page.number} of {page.task}: {what}",
        columns=columns,
        rows=page.assessors,
    )


def topics_table(page: RoundPage) -> Table[TopicProgress]:
    """How far each topic is, and where its assessors differ."""
    columns: list[Column[TopicProgress]] = [
        Column(key="topic", head="Topic", value=lambda row: row.topic_id),
        Column(key="assessors", head="Assessors", value=lambda row: row.assessors),
        Column(key="done", head="Done", value=lambda row: row.done, digits=0),
        Column(key="asked", head="Of", value=lambda row: row.asked, digits=0),
        Column(key="twice", head="Made twice", value=lambda row: row.twice, digits=0),
        Column(key="disagreements", head="Differ", value=lambda row: row.disagreements, digits=0),
        Column(key="open", head="Undecided", value=lambda row: row.open, digits=0),
    ]
    return Table(
        name=f"{page.slug}-labelling-{page.number}-topics",
        caption=f"Topics of round {page.number} of {page.task}",
        columns=columns,
        rows=page.topics,
    )


def pairs_table(page: RoundPage) -> Table[PairAgreement]:
    """How far two assessors agree on what both labelled."""
    columns: list[Column[PairAgreement]] = [
        Column(key="first", head="First", value=lambda row: row.first),
        Column(key="second", head="Second", value=lambda row: row.second),
        Column(key="items", head="Items", value=lambda row: row.items, digits=0),
        Column(key="same", head="Same", value=lambda row: row.raw.value, digits=3),
        Column(key="kappa", head="κ", value=lambda row: row.plain.value, digits=3),
        Column(key="kappa_low", head="from", value=lambda row: row.plain.low, digits=3),
        Column(key="kappa_high", head="to", value=lambda row: row.plain.high, digits=3),
        Column(key="linear", head="κ, linear", value=lambda row: row.linear.value, digits=3),
    ]
    return Table(
        name=f"{page.slug}-labelling-{page.number}-agreement",
        caption=f"Agreement in round {page.number} of {page.task}: Cohen's κ with its 95% interval",
        columns=columns,
        rows=page.pairs,
    )


def lists_table(page: RoundPage) -> Table[ListAgreement]:
    """How many nuggets two assessors wrote for a topic, and how many alike."""
    columns: list[Column[ListAgreement]] = [
        Column(key="topic", head="Topic", value=lambda row: row.topic_id),
        Column(key="first", head="First", value=lambda row: row.first),
        Column(key="second", head="Second", value=lambda row: row.second),
        Column(key="of_first", head="Nuggets of the first", value=lambda row: row.of_first, digits=0),
        Column(key="of_second", head="of the second", value=lambda row: row.of_second, digits=0),
        Column(key="same", head="Same text", value=lambda row: row.same, digits=0),
    ]
    return Table(
        name=f"{page.slug}-labelling-{page.number}-lists",
        caption=f"Topics of round {page.number} of {page.task} that two assessors have",
        columns=columns,
        rows=page.lists,
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
