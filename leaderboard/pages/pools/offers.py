"""What a new pool may be made of: the runs of a task, its topics, and the judgments it has."""

from dataclasses import dataclass

from sqlalchemy.orm import Session

from leaderboard.services.policy import Sight, Viewer
from leaderboard.services.pools import plans, pools
from leaderboard.services.pools.plans import PooledRun
from leaderboard.services.pools.previews import titles_of
from leaderboard.services.qrels import files


@dataclass(frozen=True, slots=True)
class Offer:
    """A task whose organiser makes a pool."""

    task: str
    slug: str
    runs: tuple[PooledRun, ...]
    topics: int
    revision: int | None
    """Number of the newest revision of its judgments."""
    judgments: int
    sight: Sight

    @property
    def official(self) -> int:
        """How many of the runs are official."""
        return sum(run.kind == "official" for run in self.runs)

    @property
    def primary(self) -> int:
        """How many teams have named a primary run."""
        return sum(run.primary for run in self.runs)


def offer(session: Session, viewer: Viewer, slug: str) -> Offer:
    """What there is; raises NotFound, SignInNeeded or Forbidden unless the viewer organises the task."""
    task, sight = pools.own_task(session, viewer, slug)
    revision = files.newest(session, task.id)
    return Offer(
        task=task.name,
        slug=task.slug,
        runs=plans.candidates(session, viewer, task),
        topics=len(titles_of(session, task)),
        revision=revision.number if revision is not None else None,
        judgments=revision.judgments if revision is not None else 0,
        sight=sight,
    )
