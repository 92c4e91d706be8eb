"""A suite of a site: three tasks as its members, and suite runs of several teams, by the road of a user."""

import io
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest
from sqlalchemy import select

from leaderboard.core.policy import OPERATOR, Viewer
from leaderboard.db.engine import Database
from leaderboard.db.tables import Run, Task, Team
from leaderboard.runs.ops.uploads import RunDetails
from leaderboard.suites.ops import changes, sending
from leaderboard.suites.ops.changes import MemberDraft, SuiteDraft
from leaderboard.suites.web import sending as forms
from leaderboard.trec.read.lines import Limits
from tests.make import answers, build, masked, phased, suites, twins

SLUG = "web"
TASKS = {name: f"web-{name[-1]}" for name in suites.MEMBERS}
"""Member -> slug of its task."""


def tasks(database: Database, folder: Path, **options: object) -> None:
    """The members' tasks, each with its judgments, by AP."""
    for name, judged in suites.MEMBERS.items():
        build.task(
            database,
            folder,
            TASKS[name],
            judgments=judged,
            topics=tuple(judged),
            measures=("AP", "RR"),
            primary="AP",
            **options,
        )


def draft(**settings: object) -> SuiteDraft:
    """The suite of these tasks, the first of which is the reference."""
    members = tuple(MemberDraft(name=name, task=slug, lag=suites.LAGS[name]) for name, slug in TASKS.items())
    given = {"members": members, "reference": "snapshot-1", "baseline": "bm25", "macro": "lag", **settings}
    return SuiteDraft(slug=SLUG, title="The web, again", **given)  # type: ignore[arg-type]


def suite(database: Database, folder: Path, *, viewer: Viewer = OPERATOR, **settings: object) -> str:
    """The suite with its tasks; its slug."""
    tasks(database, folder)
    with database.write() as session:
        return changes.create(session, viewer, draft(**settings))


def of_tasks(database: Database, slug: str, tasks: Sequence[str]) -> None:
    """A suite of tasks that are there; each member is called as its task."""
    members = tuple(MemberDraft(name=task, task=task, lag="none") for task in tasks)
    made = SuiteDraft(slug=slug, title=f"All of {slug}", members=members, reference=tasks[0], macro="lag")
    with database.write() as session:
        changes.create(session, OPERATOR, made)


def put_together(database: Database, slug: str, team: str, name: str, runs: Mapping[str, int]) -> int:
    """The id of a suite run of runs that a team has."""
    team_id = build.team(database, team)
    with database.write() as session:
        return sending.put_together(session, OPERATOR, slug, team_id, name, runs)


def of_documents(target: Path) -> None:
    """The suite of docs/commands.md, of a task of rankings and one of answers, and an archive for it."""
    text = 'slug = "all"\ntitle = "Everything"\nreference = "robust"\n'
    text += "".join(f'[[members]]\nname = "{name}"\ntask = "{name}"\n' for name in ("robust", "talk"))
    (target / "all.toml").write_text(text)
    content = {
        "robust/run.txt": build.run_file(target, {"1": ["a"], "2": ["d"], "3": ["e"]}, "all").read_bytes(),
        "talk/run.jsonl": answers.jsonl(
            target / "all.jsonl", [answers.answer("1", ("The air scatters it.", ["a"]))]
        ).read_bytes(),
    }
    suites.zipped(target / "all.zip", content)


def archive(ranks: Mapping[str, int], tag: str = "") -> bytes:
    """A zip with the run of each member, its relevant documents at a rank."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as packed:
        for name, body in suites.files(ranks, tag).items():
            # With a date of its own, that the same files are the same archive.
            packed.writestr(zipfile.ZipInfo(name), body)
    return made.getvalue()


def send(
    database: Database,
    folder: Path,
    ranks: Mapping[str, int],
    tag: str,
    *,
    team: str = "Team",
    viewer: Viewer = OPERATOR,
    kind: str = "official",
    key: str | None = None,
) -> int:
    """The id of a suite run that was sent as an archive."""
    path = folder / f"{tag}.zip"
    path.write_bytes(archive(ranks, tag))
    team_id = build.team(database, team)
    with database.read() as session:
        rules = sending.rules_of(session, viewer, SLUG, team_id)
    with database.write() as session:
        submission = sending.prepared(path, path.name, rules, folder, Limits())
        wished = RunDetails(team_id=team_id, kind=kind)
        return sending.send(session, viewer, SLUG, submission, wished, key)


def filled(database: Database, folder: Path) -> tuple[int, int, int]:
    """The suite with a good run, a baseline and one that lacks two members, all scored; their ids."""
    suite(database, folder)
    made = (
        send(database, folder, dict.fromkeys(suites.MEMBERS, 1), "good", team="Owls"),
        send(database, folder, dict.fromkeys(suites.MEMBERS, 2), "bm25", team="Base"),
        send(database, folder, {"snapshot-1": 3}, "part", team="Cats"),
    )
    build.drain(database)
    return made


def to_world(database: Database, run_id: int) -> None:
    """A suite of two tasks of tests.make.worlds, and a suite run of the one run there."""
    of_tasks(database, "both", ("robots", "other"))
    put_together(database, "both", "Owls", "first", {"robots": run_id})


def to_scored_twins(database: Database, secret: str) -> None:
    """A suite of three tasks, two of which hold scores back; of the masked team its run's name differs."""
    tasks = ("blind", "sealed", "open")
    of_tasks(database, "both", tasks)
    for team, name in (("Owls", "own"), (twins.MASKED[secret], f"other-{secret}")):
        with database.read() as session:
            of_team = (
                select(Task.slug, Run.id)
                .join(Task, Task.id == Run.task_id)
                .join(Team, Team.id == Run.team_id)
            )
            rows = session.execute(
                of_team.where(Team.name == team, Task.slug.in_(tasks)).order_by(Run.id.desc())
            )
            runs = {slug: run_id for slug, run_id in rows}
        put_together(database, "both", team, name, runs)


def to_masked(database: Database, secret: str) -> None:
    """Suite runs whose names say whose they are, in either suite; only Owls show theirs."""
    first, second, _ = masked.SECRETS[secret]
    for suite, other in masked.SUITES.items():
        of_tasks(database, suite, (masked.SLUG, other))
        owls = {masked.SLUG: 1} if suite == "both" else {masked.SLUG: 1, other: 6}
        sent = {"Owls": owls, first: {masked.SLUG: 2}}
        if suite == "both":
            sent[second] = {masked.SLUG: 3}
        for team, runs in sent.items():
            name = "owls-all" if team == "Owls" else f"{team.split()[0].lower()}-{secret}-all"
            put_together(database, suite, team, name, runs)


def to_phased(database: Database, secret: str) -> None:
    """A suite of the task and an open one: runs of whichever phase, and in one world one more."""
    suite, slug = phased.SUITE, phased.SLUG
    of_tasks(database, suite, (slug, "side"))
    put_together(database, suite, "Owls", "owls-all", {slug: 3, "side": 6})
    put_together(database, suite, "Bears", "bears-all", {slug: 4 if secret == "a" else 2, "side": 7})
    if secret == "a":
        put_together(database, suite, "Bears", "bears-sealed", {slug: 5})


def leave_nothing_to_chance(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let keys of forms be the same in two worlds."""
    monkeypatch.setattr(forms, "secrets", SimpleNamespace(token_urlsafe=lambda _: "chance"))
