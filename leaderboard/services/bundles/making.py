"""A task made of a folder that was understood, by the roads that forms and uploads take."""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from sqlalchemy.orm import Session

from leaderboard.errors import Invalid
from leaderboard.services.accounts import teams
from leaderboard.services.backups.backups import unlimited
from leaderboard.services.bundles.found import FoundRun, FoundTask
from leaderboard.services.bundles.opening import BundleFiles
from leaderboard.services.policy import Viewer
from leaderboard.services.runs import admission, prepare, uploads
from leaderboard.services.runs.admission import RunRequest
from leaderboard.services.runs.uploads import Delivery
from leaderboard.services.tasks import create, drafts
from leaderboard.services.tasks.drafts import PreparedTask, TaskDraft
from leaderboard.trec.read.lines import Limits

Progress = Callable[[str], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderRequest:
    """What the task is called, and within which limits its run files are read."""

    slug: str
    name: str
    limits: Limits = Limits()


def prepared(files: BundleFiles, found: FoundTask, wanted: FolderRequest, folder: Path) -> PreparedTask:
    """Topics and judgments, read without a session; folder takes a file of topics where there is none."""
    topics = files.file(found.topics_path) if found.topics_path else _titleless(found.topics, folder)
    draft = TaskDraft(
        slug=wanted.slug,
        name=wanted.name,
        topics=topics,
        topics_name=found.topics_path,
        qrels=files.file(found.qrels_path) if found.qrels_path else None,
        qrels_name=Path(found.qrels_path).name,
        depth=found.depth,
        map=found.mapping,
    )
    return drafts.prepare(draft)


def make(
    session: Session,
    viewer: Viewer,
    files: BundleFiles,
    task: PreparedTask,
    runs: tuple[FoundRun, ...],
    limits: Limits,
    progress: Progress = lambda _: None,
) -> None:
    """Store and publish the task, then add its runs; the caller's transaction holds all of it or nothing.

    For who may make tasks: organisers file runs for any team of their own tasks. Raises Conflict where the
    slug is taken, Invalid for a run that is not accepted after all.
    """
    # A large run takes longer to be packed than a page's transaction may wait.
    unlimited(session.connection())
    slug = task.draft.slug
    made = create.create(session, viewer, task)
    maker = replace(viewer, organises=viewer.organises | {made.id})
    create.publish(session, maker, slug)
    for run in runs:
        progress(run.path)
        team_id = teams.ensure(session, maker, run.team, made.id)
        rules = admission.rules_for(session, maker, slug, team_id, any_team=True)
        file = prepare.prepare(files.file(run.path), run.path, rules, limits)
        delivery = Delivery(
            sender=maker,
            slug=slug,
            team_id=team_id,
            file=file,
            wishes=RunRequest(run.name, run.kind),
            any_team=True,
        )
        sent = uploads.submit(session, delivery)
        if sent.run_id is None:
            raise Invalid(f"{run.path} was not accepted.", sent.report.problems if sent.report else ())


def _titleless(topics: tuple[str, ...], folder: Path) -> Path:
    path = folder / "topics.jsonl"
    path.write_text("".join(f"{json.dumps({'id': topic})}\n" for topic in topics), encoding="utf-8")
    return path
