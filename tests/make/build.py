"""Builders that take the same road as a user: files in, services called, jobs done."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from sqlalchemy import select

from leaderboard.accounts.ops import teams
from leaderboard.core.policy import OPERATOR, Viewer
from leaderboard.db.engine import Database
from leaderboard.db.tables import Member
from leaderboard.qrels.ops import revisions
from leaderboard.qrels.ops.revisions import NewRevision, Revision
from leaderboard.runs.ops import limits, prepare, uploads
from leaderboard.runs.ops.limits import RunRequest
from leaderboard.runs.ops.uploads import Delivery, Submission
from leaderboard.scoring.ops.qrels import files
from leaderboard.settings import Settings
from leaderboard.tasks.ops import drafts
from leaderboard.tasks.ops.drafts import TaskDraft
from leaderboard.trec.qrels.left_out import LeftOut
from leaderboard.trec.read.lines import Limits
from leaderboard.worker import Evaluator
from tests.make.copies import built_once

TOPICS = ("1", "2", "3")
JUDGMENTS = {"1": {"a": 2, "b": 0, "c": 1}, "2": {"a": 0, "d": 1}, "3": {"e": 3, "f": 1}}


def topics_file(folder: Path, topics: Iterable[str] = TOPICS) -> Path:
    """A TSV topics file."""
    path = folder / "topics.tsv"
    path.write_text("".join(f"{topic}\ttitle of {topic}\n" for topic in topics))
    return path


def qrels_file(
    folder: Path, judgments: Mapping[str, Mapping[str, int]] = JUDGMENTS, name: str = "qrels"
) -> Path:
    """A TREC qrels file."""
    path = folder / f"{name}.txt"
    lines = [
        f"{topic} 0 {docno} {grade}" for topic, grades in judgments.items() for docno, grade in grades.items()
    ]
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def run_file(folder: Path, rankings: Mapping[str, Sequence[str]], name: str = "run") -> Path:
    """A TREC run file whose scores fall with the rank."""
    path = folder / f"{name}.txt"
    path.write_text(
        "".join(
            f"{topic} Q0 {docno} {rank} {1000 - rank} {name}\n"
            for topic, docnos in rankings.items()
            for rank, docno in enumerate(docnos, start=1)
        )
    )
    return path


def click_log(
    folder: Path,
    sessions: Sequence[tuple[str, str, Sequence[str], Sequence[int]]] = (("Ann", "1", ("a", "c"), (0, 1)),),
    name: str = "clicks",
) -> Path:
    """A CSV query log of sessions: user, topic or title, documents as shown, 1 for each that was clicked."""
    path = folder / f"{name}.csv"
    lines = [
        f"{user},{text},{docno},{rank},{click},2026-05-31T12:00:{place % 60:02}Z"
        for place, (user, text, docnos, clicks) in enumerate(sessions)
        for rank, (docno, click) in enumerate(zip(docnos, clicks, strict=True), start=1)
    ]
    path.write_text("\n".join(["user,query,document,rank,clicked,time", *lines, ""]))
    return path


@built_once
def task(
    database: Database,
    folder: Path,
    slug: str = "t",
    *,
    judgments: Mapping[str, Mapping[str, int]] | None = JUDGMENTS,
    topics: Iterable[str] = TOPICS,
    viewer: Viewer = OPERATOR,
    publish: bool = True,
    **options: Any,
) -> str:
    """A task through the services; its slug."""
    draft = TaskDraft(
        slug=slug,
        name=options.pop("name", f"Task {slug}"),
        topics=topics_file(folder, topics),
        qrels=qrels_file(folder, judgments) if judgments is not None else None,
        **options,
    )
    prepared = drafts.prepare(draft)
    with database.write() as session:
        created = drafts.create(session, viewer, prepared)
        if publish:
            drafts.publish(session, OPERATOR, created.slug)
    return created.slug


@built_once
def revise(
    database: Database,
    folder: Path,
    judgments: Mapping[str, Mapping[str, int]],
    slug: str = "t",
    left_out: LeftOut | None = None,
) -> Revision:
    """A new qrels revision of the task."""
    prepared = files.prepare(qrels_file(folder, judgments, "revision"))
    with database.write() as session:
        return revisions.revise(
            session, OPERATOR, slug, NewRevision(prepared=prepared, note="a note", left_out=left_out)
        )


@built_once
def team(database: Database, name: str = "Team") -> int:
    """The id of a team, made where there is none."""
    with database.write() as session:
        return teams.ensure(session, OPERATOR, name)


@built_once
def submit(
    database: Database,
    path: Path,
    slug: str = "t",
    *,
    team_name: str = "Team",
    viewer: Viewer = OPERATOR,
    key: str | None = None,
    run_request: RunRequest | None = None,
    as_operator: bool = False,
) -> Submission:
    """Send a run file as the site does: rules read, file checked, then stored.

    The operator sends it as a member of the team where it has any, unless as_operator.
    """
    team_id = team(database, team_name)
    with database.read() as session:
        member = session.scalars(select(Member.account_id).where(Member.team_id == team_id)).first()
        if viewer == OPERATOR and member is not None and not as_operator:
            viewer = replace(OPERATOR, account_id=member, team_ids=frozenset({team_id}))
        rules = limits.rules_for(session, viewer, slug, team_id, run_request.phase if run_request else "")
    prepared = prepare.prepare(path, path.name, rules, Limits())
    with database.write() as session:
        delivery = Delivery(
            sender=viewer,
            slug=slug,
            team_id=team_id,
            file=prepared,
            run_request=run_request or RunRequest(path.stem),
            key=key,
        )
        return uploads.submit(session, delivery)


@built_once
def run(
    database: Database, folder: Path, rankings: Mapping[str, Sequence[str]], name: str = "run", **options: Any
) -> int:
    """The id of an accepted run."""
    submission = submit(database, run_file(folder, rankings, name), **options)
    assert submission.run_id is not None, submission.report
    return submission.run_id


@built_once
def drain(database: Database, settings: Settings | None = None) -> int:
    """Do all jobs that are due; how many there were."""
    return Evaluator(database, settings or Settings()).drain()
