"""Reproductions on the page of a run: the run it reproduces, and the runs that reproduce it."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from leaderboard.core.policy import TaskAccess, Viewer
from leaderboard.core.shown_names import ShownNames
from leaderboard.core.slots import Part
from leaderboard.db.tables import Run, Task
from leaderboard.reproductions import ops as reproductions
from leaderboard.reproductions.ops import KIND, ReproductionLink, RunSide


@dataclass(frozen=True, slots=True)
class MentionedRun:
    """The other run of a reproduction; slug is that of the reproducing run's task, empty if no page shows it.

    reproduction_id: the number of the reproducing run, which is in the page's address.
    """

    run_id: int
    name: str
    task: str
    is_replication: bool
    is_withdrawn: bool
    slug: str
    reproduction_id: int


@dataclass(frozen=True, slots=True)
class RunMentions:
    """The reproduced run, None if absent, and the runs that reproduce it, by number."""

    reproduces: MentionedRun | None = None
    reproduced_by: tuple[MentionedRun, ...] = ()

    @property
    def facts(self) -> dict[str, Any]:
        """Run numbers; empty if there are no links."""
        by = [run.run_id for run in self.reproduced_by]
        reproduces = {"reproduces": self.reproduces.run_id} if self.reproduces else {}
        return {**reproduces, **({"reproduced_by": by} if by else {})}


def parts(
    session: Session, viewer: Viewer, run: Run, task: Task, access: TaskAccess, names: ShownNames
) -> tuple[Part, ...]:
    """The reproductions part of a run's page, if any."""
    run_mentions = mentions(session, viewer, run, task, access, names)
    return (
        (Part("reproductions/mentions.html", run_mentions, run_mentions.facts),) if run_mentions.facts else ()
    )


def mentions(
    session: Session, viewer: Viewer, run: Run, task: Task, access: TaskAccess, names: ShownNames
) -> RunMentions:
    """The links of a visible run; no statement if absent.

    The number of statements does not grow with the links. Hidden links are left out: both tasks must show
    scores by topic, and neither run of a replication may have a pseudonym. The team of the reproduction and
    the organisers always see the link.
    """
    if task.kind != KIND or not access.links.in_reproductions:
        return RunMentions()
    side = RunSide(run, task, access, names)
    own = reproductions.links_to(session, [run.id])
    others = reproductions.all_sides(session, viewer, {_other(link, run.id) for link in own})
    mentioned_runs = [
        mention
        for link in own
        if (there := others.get(_other(link, run.id))) is not None
        and (mention := _mention(viewer, side, there, link)) is not None
    ]
    return RunMentions(
        reproduces=next(
            (mentioned_run for mentioned_run in mentioned_runs if mentioned_run.reproduction_id == run.id),
            None,
        ),
        reproduced_by=tuple(
            mentioned_run for mentioned_run in mentioned_runs if mentioned_run.reproduction_id != run.id
        ),
    )


def _other(link: ReproductionLink, run_id: int) -> int:
    """The run at the other end of a link."""
    return link.of.original if link.run_id == run_id else link.run_id


def _mention(viewer: Viewer, here: RunSide, there: RunSide, link: ReproductionLink) -> MentionedRun | None:
    reproducing = here if link.run_id == here.run.id else there
    if (
        not reproductions.is_told(viewer, reproducing, [here, there])
        or reproducing.run.withdrawn_at is not None
    ):
        return None
    return MentionedRun(
        run_id=there.run.id,
        name=there.names.run(there.run.id, there.run.name),
        task=there.task.name,
        is_replication=link.is_replication,
        is_withdrawn=there.run.withdrawn_at is not None,
        slug=reproducing.task.slug if reproductions.is_open([here, there]) else "",
        reproduction_id=link.run_id,
    )
