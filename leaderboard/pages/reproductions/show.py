"""One reproduction level by level: its topics, its effect among all of the task, what its headers say."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Run, Topic
from leaderboard.errors import NotFound
from leaderboard.pages.reproductions.board import ComparedTask, ReproductionHead, compared_task
from leaderboard.pages.reproductions.pairs import PairRow, pair_rows
from leaderboard.pages.reproductions.readable import NamedRun
from leaderboard.pages.scores.table import ScoreTable
from leaderboard.services.policy import Viewer
from leaderboard.services.reproductions import links
from leaderboard.services.reproductions.links import ReproductionLink
from leaderboard.services.runs import facts
from leaderboard.stats.reproductions.numbers import LevelRow, level_rows, threshold_lines
from leaderboard.stats.reproductions.topics import largest_differences
from leaderboard.trec.facts.header import leaves

MOST_TOPICS = 10
"""Topics with the largest differences that are listed."""


@dataclass(frozen=True, slots=True)
class TopicScores:
    """A topic with the original's score and the reproduction's."""

    topic_id: str
    title: str
    original: float
    other: float

    @property
    def difference(self) -> float:
        """The reproduction's score less the original's."""
        return self.other - self.original


@dataclass(frozen=True, slots=True)
class DifferingFact:
    """What the metadata of the original and of its reproduction say differently of one key; "" is nothing."""

    key: str
    original: str
    other: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReproductionPage(ReproductionHead):
    """One reproduction by one measure."""

    row: PairRow
    levels: tuple[LevelRow, ...]
    topics: tuple[TopicScores, ...]
    """In the order of the revision; empty for a replication, whose topics are others."""
    largest: tuple[TopicScores, ...]
    """The topics that differ most, the most first."""
    metadata: tuple[DifferingFact, ...]
    plane: tuple[PairRow, ...]
    """Every reproduction of the task that has DRI and ER."""
    elsewhere: tuple[PairRow, ...]
    """Every reproduction of the same original, on whatever collection; empty where there is this one only."""

    @property
    def threshold_lines(self) -> list[str]:
        """Where the words begin, those that this reproduction has."""
        return threshold_lines(self.thresholds, same_topics=not self.row.is_replication)


def reproduction_page(
    session: Session, viewer: Viewer, slug: str, run_id: int, measure: str | None = None
) -> ReproductionPage:
    """The reproduction that a run is, by a measure.

    Raises NotFound where the run is of another task or reproduces nothing that the viewer may compare it
    with, else as compared_task.
    """
    of = compared_task(session, viewer, slug, measure)
    link = next((link for link in of.links if link.run_id == run_id), None)
    if link is None:
        raise _nothing(of, run_id)
    others = links.links_to(session, [link.of.original])
    every = {one.run_id: one for one in (*of.links, *others)}
    asked = [link.run_id]
    rows = pair_rows(session, viewer, list(every.values()), of.table, of.thresholds, with_orders=asked)
    by_run = {row.run.run_id: row for row in rows}
    if run_id not in by_run:
        raise _nothing(of, run_id)
    row = by_run[run_id]
    topics = _topics(session, of.table, link) if row.levels and not row.is_replication else ()
    same = [by_run[one.run_id] for one in others if one.run_id in by_run and _tried(one, link)]
    own = {one.run_id for one in of.links}
    return ReproductionPage(
        **of.head(),
        row=row,
        levels=tuple(level_rows(row.levels)) if row.levels else (),
        topics=topics,
        largest=_largest(topics),
        metadata=_metadata(session, row.original, row.run) if row.levels else (),
        plane=tuple(one for one in rows if one.run.run_id in own and place_of(one) is not None),
        elsewhere=tuple(same) if len(same) > 1 else (),
    )


def place_of(row: PairRow) -> tuple[float, float] | None:
    """DRI and ER of a reproduction; None where it has no effect, or one of both is not defined."""
    effect = row.levels.effect if row.levels else None
    if effect is None or effect.dri is None or effect.er is None:
        return None
    return effect.dri, effect.er


def _tried(one: ReproductionLink, link: ReproductionLink) -> bool:
    return one.of.original == link.of.original


def _nothing(of: ComparedTask, run_id: int) -> NotFound:
    return NotFound(f"{of.table.task} has no reproduction by run {run_id} here.")


def _topics(session: Session, table: ScoreTable, link: ReproductionLink) -> tuple[TopicScores, ...]:
    places = {run.run_id: place for place, run in enumerate(table.runs)}
    if link.of.original not in places or link.run_id not in places:
        return ()
    titles = session.execute(select(Topic.topic_id, Topic.title).where(Topic.task_id == table.of.id))
    title = {row.topic_id: row.title for row in titles}
    sides = (table.scores[places[run_id]].tolist() for run_id in link.pairs[0])
    return tuple(
        TopicScores(topic, title.get(topic, ""), one, two)
        for topic, one, two in zip(table.topics, *sides, strict=True)
    )


def _largest(topics: tuple[TopicScores, ...]) -> tuple[TopicScores, ...]:
    if not topics:
        return ()
    original, other = (np.array([getattr(topic, side) for topic in topics]) for side in ("original", "other"))
    return tuple(topics[at] for at in largest_differences(original, other, MOST_TOPICS).tolist())


def _metadata(session: Session, original: NamedRun, run: NamedRun) -> tuple[DifferingFact, ...]:
    """What both say differently: their headers, or the known facts where one goes by a pseudonym."""
    ids = [original.run_id, run.run_id]
    rows = session.execute(select(Run.id, Run.details).where(Run.id.in_(ids)))
    details = {row.id: row.details for row in rows}
    is_masked = original.is_masked or run.is_masked
    one, two = (_said(details[run_id], is_masked=is_masked) for run_id in ids)
    both = ((key, one.get(key, ""), two.get(key, "")) for key in dict.fromkeys([*one, *two]))
    return tuple(DifferingFact(*said) for said in both if said[1] != said[2])


def _said(details: Mapping[str, Any], *, is_masked: bool) -> dict[str, str]:
    if is_masked:
        return {fact.title: fact.text for fact in facts.nameless(facts.facts(details))}
    return {".".join(path): text for path, text in leaves(facts.header_of(details))}
