"""The page of a new pool: what it may be made of, and its preview as tables and files."""

from dataclasses import asdict, dataclass
from operator import attrgetter
from typing import Any

from sqlalchemy.orm import Session

from leaderboard.pages.pools.pools import organised
from leaderboard.services import kinds
from leaderboard.services.policy import Viewer
from leaderboard.services.pools import plans
from leaderboard.services.pools.plans import PooledRun
from leaderboard.services.pools.previews import Contribution, Preview, TopicShare, titles_of
from leaderboard.services.qrels import files
from leaderboard.services.tasks.head import TaskHead
from leaderboard.tables.record import Column, Files, Place, Table, columns_from


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolOffer(TaskHead):
    """A task whose organiser makes a pool."""

    runs: tuple[PooledRun, ...]
    topics: int
    revision: int | None
    """Number of the newest revision of its judgments."""
    judgments: int

    @property
    def official(self) -> int:
        """How many of the runs are official."""
        return sum(run.kind == "official" for run in self.runs)

    @property
    def primary(self) -> int:
        """How many teams have named a primary run."""
        return sum(run.primary for run in self.runs)


def offer(session: Session, viewer: Viewer, slug: str) -> PoolOffer:
    """What there is; raises NotFound, SignInNeeded or Forbidden unless the viewer organises the task."""
    task, sight = organised(session, viewer, slug)
    revision = files.newest(session, task.id) if kinds.of(task.kind).ranks_documents else None
    return PoolOffer(
        of=task,
        sight=sight,
        runs=plans.candidates(session, viewer, task),
        topics=len(titles_of(session, task)),
        revision=revision.number if revision is not None else None,
        judgments=revision.judgments if revision is not None else 0,
    )


def facts(preview: Preview) -> dict[str, Any]:
    """The preview as plain values."""
    return {
        "task": preview.task,
        "method": preview.method.spec,
        "seed": preview.plan.seed,
        "runs": len(preview.runs),
        "places": preview.entries,
        "candidates": preview.candidates,
        "documents": preview.documents,
        "reused": preview.reused,
        "to_judge": preview.to_judge,
        "seconds_per_document": preview.plan.seconds,
        "overlap": preview.plan.overlap,
        "hours": preview.hours,
        "topics": [asdict(topic) for topic in preview.topics],
        "by_run": [asdict(row) for row in preview.by_run],
        "by_team": teams(preview).facts(),
    }


def topics(preview: Preview) -> Table[TopicShare]:
    """The documents of every topic."""
    undrawn = Place.EVERYWHERE if preview.undrawn else ~Place.PAGE
    return Table(
        f"{preview.slug}-pool-topics",
        _caption(preview, "topics"),
        columns_from(
            TopicShare,
            "topic_id title candidates documents reused to_judge",
            Column("undrawn", attrgetter("undrawn"), "Not drawn", digits=0, shown=undrawn),
        ),
        preview.topics,
    )


def runs(preview: Preview) -> Table[Contribution]:
    """What each run brings."""
    return Table(
        f"{preview.slug}-pool-runs",
        _caption(preview, "runs"),
        columns_from(Contribution, "name team", *_documents()),
        preview.by_run,
    )


def teams(preview: Preview) -> Table[Contribution]:
    """What each team brings."""
    return Table(
        f"{preview.slug}-pool-teams",
        _caption(preview, "teams"),
        [
            Column("team", attrgetter("team"), "Team"),
            Column("runs", attrgetter("runs"), "Runs", digits=0),
            *_documents(),
        ],
        preview.by_team,
    )


FILES = Files(facts=facts, tables={"topics": topics, "runs": runs, "teams": teams})


def _documents() -> list[Column[Contribution]]:
    return columns_from(Contribution, "documents alone")


def _caption(preview: Preview, which: str) -> str:
    return f"{preview.task}: {preview.method.title} of {len(preview.runs)} runs, by {which}."
