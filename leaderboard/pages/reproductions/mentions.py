"""What the page of a run says of reproductions: what it reproduces, and what reproduces it."""

from dataclasses import dataclass

from sqlalchemy.orm import Session

from leaderboard.db.tables import Run, Task
from leaderboard.services import reproductions
from leaderboard.services.policy import Sight, Viewer
from leaderboard.services.reproductions import KIND, ReproductionLink, RunSide
from leaderboard.services.shown_names import ShownNames


@dataclass(frozen=True, slots=True)
class MentionedRun:
    """The other run of a reproduction; slug is of the reproducing run's task, empty where no page has it.

    reproduction_id: the number of the run that reproduces, by which the page goes.
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
    """What a run reproduces, None where nothing is said, and what reproduces it, by number."""

    reproduces: MentionedRun | None = None
    reproduced_by: tuple[MentionedRun, ...] = ()


def mentions(
    session: Session, viewer: Viewer, run: Run, task: Task, sight: Sight, names: ShownNames
) -> RunMentions:
    """What is said of a run that the viewer sees; no statement where nothing is.

    As many statements for many links as for one.

    Of what is not for the viewer's eyes nothing is said: both tasks must show scores by topic, and neither
    run of a replication may go by a pseudonym. The team that said it, and the organisers, read it always.
    """
    if task.kind != KIND or not sight.links.in_reproductions:
        return RunMentions()
    here = RunSide(run, task, sight, names)
    own = reproductions.links_to(session, [run.id])
    others = reproductions.all_sides(session, viewer, {_other(link, run.id) for link in own})
    said = [
        mention
        for link in own
        if (there := others.get(_other(link, run.id))) is not None
        and (mention := _mention(viewer, here, there, link)) is not None
    ]
    return RunMentions(
        reproduces=next((one for one in said if one.reproduction_id == run.id), None),
        reproduced_by=tuple(one for one in said if one.reproduction_id != run.id),
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
