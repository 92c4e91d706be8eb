"""Two sites with the same clock and ids that differ only in what is held back from readers."""

import shutil
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import delete, select, update
from sqlalchemy.orm import Session

from leaderboard.accounts.ops import sessions
from leaderboard.boards.ops import snapshots
from leaderboard.core import audit, policy
from leaderboard.core.jobs.health import JobHealth
from leaderboard.db.engine import Database, UtcDateTime
from leaderboard.db.tables import (
    Entry,
    Run,
    Snapshot,
    Task,
    Team,
    Topic,
    TopicSet,
    UploadBatch,
    WebSession,
    Worker,
    metadata,
)
from leaderboard.judging.ops import judging as judging_services
from leaderboard.judging.ops import side_by_side
from leaderboard.judging.ops.pools import pools, previews
from leaderboard.judging.ops.pools.previews import PoolPlan
from leaderboard.runs.ops.limits import RunRequest
from leaderboard.runs.web import uploads
from leaderboard.settings import Settings
from leaderboard.tasks.ops import announcements
from leaderboard.tasks.ops.announcements import AnnouncementBody
from leaderboard.trec.qrels.left_out import LeftOut
from leaderboard.web import session as web_session
from tests.make import answered, judged, keys, labelled, leaves, people, pictures, twin_nuggets
from tests.make import build as builders
from tests.make.apps import application
from tests.make.copies import built_once
from tests.web.conftest import browser, enter

TOPICS = tuple(str(number) for number in range(1, 11))
DEEP = tuple(f"d{number:02}" for number in range(14))
MEASURES = ("RR", "AP", "NumRel", "Judged@10")
SNAPSHOTS = {
    ("blind", "blind"): "a" * 16,
    ("open", "open"): "b" * 16,
    ("blind", "open"): "c" * 16,
    ("sealed", "open"): "d" * 16,
}
"""Task and what it was when its board was frozen -> address."""
MASKED = {"a": "Aardvarks", "b": "Zebras"}
"""World -> the true name of the team that readers know by a pseudonym; names that sort otherwise."""
PSEUDONYM = "Team 2"


_RUNS = select(Task.slug, Run.name, Run.id).join(Run, Run.task_id == Task.id)


@dataclass(frozen=True)
class World:
    """One of the two sites."""

    app: Flask
    database: Database
    moment: datetime

    def browser(self, name: str | None) -> FlaskClient:
        """A browser, signed in as the account of that name at the same moment in both worlds."""
        client = browser(self.app)
        if name is not None:
            enter(self.database, client, name)
            with self.database.write() as session:
                session.execute(update(WebSession).values(created_at=self.moment, seen_at=self.moment))
        return client


class AsBuilt:
    """What an SQLite database held at first, to which it can be taken back."""

    def __init__(self, database: Database) -> None:
        self._kept = sqlite3.connect(":memory:")
        self._own = sqlite3.connect(str(database.engine.url.database))
        self._own.backup(self._kept)
        self._seen = self._version()

    def _version(self) -> int:
        """Another number whenever somebody else has written."""
        return int(self._own.execute("PRAGMA data_version").fetchone()[0])

    def undo(self) -> bool:
        """Make the database what it was; whether anything was to be undone."""
        if self._version() == self._seen:
            return False
        self._kept.backup(self._own)
        self._seen = self._version()
        return True


def _judged(secret: str, public: Sequence[str], offset: int) -> dict[str, dict[str, int]]:
    """Public topics alike in both worlds; the others otherwise, one of them judged in world a alone."""
    alike = {topic: {"d01": 1, DEEP[offset]: 2, "d07": 0} for topic in public}
    held_back = [topic for topic in TOPICS if topic not in public]
    if secret == "a":
        return {**alike, **{topic: {"d00": 1, "only-a": offset} for topic in held_back}}
    other = {topic: {"d02": 2, "d03": 0, "only-b": offset} for topic in held_back[1:]}
    return {**alike, **other, "77": {"d00": 1}}


def _left_out(secret: str, public: Sequence[str]) -> LeftOut:
    """Of held-back topics alone: other documents, and another number of them, in either world."""
    first, second, *_ = [topic for topic in TOPICS if topic not in public]
    if secret == "a":
        return LeftOut({first: frozenset({b"d09"})}, True)
    return LeftOut({first: frozenset({b"d10", b"d11"}), second: frozenset({b"d12"})}, True)


def _other_run(folder: Path, secret: str, public: Sequence[str]) -> Path:
    """Another team's run: public topics alike; the others turned in world b, by tiny steps of score."""
    lines = []
    for topic in TOPICS:
        turned = secret == "b" and topic not in public
        step = 1e-12 if turned else 1.0
        docnos = (*DEEP[7:], *DEEP[:7]) if turned else DEEP
        lines += [f"{topic} Q0 {docno} 1 {1.0 - rank * step!r} tag\n" for rank, docno in enumerate(docnos)]
    path = folder / "other.txt"
    path.write_text("".join(lines))
    return path


@built_once
def _fill(database: Database, folder: Path, secret: str) -> None:
    """Three tasks with runs of two teams under two revisions, and what only one world has at the end."""
    keys.give(database)
    accounts = {name: people.account(database, name) for name in ("Ann", "Bob", "Stranger", "Zed")}
    olga = people.account(database, "Olga", is_organiser=True)
    for name, team in (("Ann", "Owls"), ("Bob", MASKED[secret])):
        leaves.add("listen", database, accounts[name], people.team(database, team, accounts[name]))
    for slug in ("blind", "sealed"):
        _held_back_task(database, folder, slug, secret)
    builders.task(database, folder, "open", measures=("RR",))
    builders.run(database, folder, {"1": ["a"]}, "shown", slug="open", team_name="Owls")
    builders.run(database, folder, {"1": ["b", "a"]}, "masked", slug="open", team_name=MASKED[secret])
    _answers(database, folder, secret)
    leaves.add("to_twins", database, folder, secret)
    for slug in ("blind", "sealed", "open"):
        pictures.give(database, folder, slug)
    builders.task(database, folder, "olgas", viewer=people.viewer(database, olga))
    if secret == "b":
        path = _other_run(folder, "a", ())
        builders.submit(database, path, "sealed", team_name=MASKED[secret], run_request=RunRequest("extra"))
        builders.submit(
            database, builders.run_file(folder, {"99": ["a"]}, "bad"), "sealed", team_name=MASKED[secret]
        )
        wolves = people.team(database, "Wolves", accounts["Zed"])
        people.invitation(database, accounts["Zed"], team_id=wolves, note="Hush.")
        _send_a_batch(database, accounts["Bob"])
        builders.task(database, folder, "draft")
        pictures.give(database, folder, "draft")
        with database.write() as session:
            session.execute(update(Task).where(Task.slug == "draft").values(published_at=None))
    builders.drain(database)
    _reproduce(database, secret)
    _mask(database, secret)
    _hide_more(database, secret)
    leaves.add("to_scored_twins", database, secret)
    for slug, was in SNAPSHOTS:
        _freeze(database, slug, was)
    for slug in ("blind", "sealed", "open"):
        _announce(database, slug, secret)
    if secret == "a":
        for slug in ("blind", "sealed"):
            _compare_by_eye(database, slug)
            _pool(database, slug)
    leaves.add("settle", database)


def _send_a_batch(database: Database, account_id: int) -> None:
    """Somebody sent files together, of which none was taken."""
    with database.write() as session:
        task = session.scalars(select(Task).where(Task.slug == "sealed")).one()
        refused = [{"file": "secret.txt", "rule": "No.", "examples": []}]
        wishes = {"hold": False, "refused": refused}
        batch = UploadBatch(task_id=task.id, account_id=account_id, wishes=wishes, created_at=task.created_at)
        session.add(batch)


def _reproduce(database: Database, secret: str) -> None:
    """What everybody may read of; and, in one world, of runs whose scores are held back."""
    with database.write() as session:
        runs = {(slug, name): run_id for slug, name, run_id in session.execute(_RUNS)}
        said = {("open", "shown"): ("open", "masked")}
        if secret == "a":
            said[("blind", "other")] = ("blind", "own")
            said[("sealed", "other-a")] = ("sealed", "own")
            said[("open", "masked")] = ("blind", "own")
    for run, original in said.items():
        leaves.add("reproduce", database, runs[run], runs[original])


def _mask(database: Database, secret: str) -> None:
    """One of the teams goes by a pseudonym in every task."""
    masked = select(Team.id).where(Team.name == MASKED[secret]).scalar_subquery()
    with database.write() as session:
        session.execute(update(Entry).where(Entry.team_id == masked).values(pseudonym=PSEUDONYM))
        session.execute(update(Task).values(naming="team"))
        session.execute(update(Entry).where(Entry.team_id != masked).values(reveal_at=Entry.created_at))


def _announce(database: Database, slug: str, secret: str) -> None:
    """Something is told to everybody, to a team that readers know by a pseudonym, and to organisers."""
    to = announcements.TEAMS
    with database.write() as session:
        masked = session.scalars(select(Team.id).where(Team.name == MASKED[secret])).one()
        drafts = [
            AnnouncementBody("To all", "The same *words*.", announcements.EVERYBODY),
            AnnouncementBody(f"To {secret}", f"Dear {MASKED[secret]}", to, (masked,)),
            AnnouncementBody(f"Without {secret}", "", announcements.WITHOUT_RUN),
        ]
        for draft in drafts[: 3 if announcements.teams_without_run(session, _task_id(session, slug)) else 2]:
            made = announcements.preview(session, policy.OPERATOR, slug, draft)
            announcements.send(session, policy.OPERATOR, slug, draft, made.count, None)


def _task_id(session: Session, slug: str) -> int:
    return session.scalars(select(Task.id).where(Task.slug == slug)).one()


def _hide_more(database: Database, secret: str) -> None:
    """Only one world has a topic left out for what its judgments say, and a team that waits to enter."""
    with database.write() as session:
        if secret == "a":
            public = session.scalar(select(TopicSet.topics).where(TopicSet.name == "public")) or ()
            hidden = next(topic for topic in TOPICS if topic not in public)
            of = Topic.task_id.in_(select(Task.id).where(Task.slug.in_(("blind", "sealed"))))
            session.execute(
                update(Topic).where(of, Topic.topic_id == hidden).values(excluded="Nothing is relevant.")
            )
        else:
            wolves = session.scalars(select(Team.id).where(Team.name == "Wolves")).one()
            tasks = session.scalars(select(Task).where(Task.slug.in_(("blind", "sealed", "open"))))
            session.add_all(
                Entry(task_id=task.id, team_id=wolves, state="waiting", created_at=task.created_at)
                for task in tasks.all()
            )


def _pool(database: Database, slug: str) -> None:
    """A pool of all that the runs of a task have is open to assessors."""
    with database.read() as session:
        made = previews.preview(session, policy.OPERATOR, slug, PoolPlan({"name": "take"}, reuse=False))
    with database.write() as session:
        number = pools.add(session, policy.OPERATOR, made)
        pools.change(session, policy.OPERATOR, slug, number, pools.OPEN, highest_grade=1, without_texts=True)
    for name, grades in (("Fay", {"d01": 1, "d02": 0}), ("Gus", {"d01": 0, "d02": None})):
        judged.judge(database, judged.assessor(database, name, slug), "1", grades, note=name)


def _compare_by_eye(database: Database, slug: str) -> None:
    """Somebody has compared both runs of a task side by side, and nothing is outstanding."""
    with database.write() as session:
        (link,) = judging_services.add_link(session, policy.OPERATOR, slug, ["Eve"])
        task_id = session.scalars(select(Task.id).where(Task.slug == slug)).one()
        first, *others = side_by_side.comparable_runs(session, task_id)
        wanted = side_by_side.ComparisonRequest(first, tuple(others), (link.assessor_id,), ("1",))
        side_by_side.ask_pair(session, policy.OPERATOR, slug, wanted)
    with database.write() as session:
        for asked in side_by_side.of_link(session, link.token).asked:
            sent = side_by_side.SentAnswer(f"{asked.item}-0", "left", 4, 1)
            side_by_side.save_question(session, link.token, asked.item, sent)


def note_at_one_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let what a walk leaves behind, and an export, have one time in both worlds: accounts read both."""
    moment = datetime.now(UTC).replace(microsecond=0)
    leaves.add("export_at", monkeypatch, moment)
    monkeypatch.setattr(audit, "now", lambda _: moment)
    monkeypatch.setattr(sessions, "stamp", lambda *_: None)
    # No evaluator works in a world, which /healthz minds a minute after a site started.
    monkeypatch.setattr(JobHealth, "problem", lambda *_: "")


def leave_nothing_to_chance(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let keys of forms, secrets and numbers of requests be the same too."""
    monkeypatch.setattr(uploads, "secrets", SimpleNamespace(token_urlsafe=lambda _: "chance"))
    monkeypatch.setattr(web_session, "new_id", lambda: "chance")
    leaves.add("leave_nothing_to_chance", monkeypatch)


def open_under_one_address(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let snapshots be opened whose contents differ under one address: their digests would tell."""
    monkeypatch.setattr(snapshots, "whole_body", lambda _, body: snapshots._plain(body))


def _freeze(database: Database, slug: str, was: str) -> None:
    """A snapshot made while the task was otherwise, under the same address in both worlds."""
    shown = update(Task).where(Task.slug == slug)
    with database.write() as session:
        session.execute(shown.values(visibility=was))
        frozen = snapshots.freeze(session, policy.OPERATOR, slug)
        snapshots.keep(session, policy.OPERATOR, frozen)
        digest = update(Snapshot).where(Snapshot.sha256 == frozen.sha256)
        session.execute(digest.values(sha256=SNAPSHOTS[slug, was] * 4))
        session.execute(shown.values(visibility=slug))


def _held_back_task(database: Database, folder: Path, slug: str, secret: str) -> None:
    builders.task(
        database, folder, slug, judgments=None, topics=TOPICS, measures=MEASURES, visibility=slug, name=slug
    )
    with database.read() as session:
        public = list(session.scalar(select(TopicSet.topics).where(TopicSet.name == "public")) or ())
    public = public if slug == "blind" else []
    builders.revise(database, folder, _judged(secret, public, 4), slug)
    own = {topic: list(DEEP[1:]) for topic in TOPICS[1:]}
    builders.run(database, folder, own, "own", slug=slug, team_name="Owls")
    name = "other" if slug == "blind" else f"other-{secret}"
    path = _other_run(folder, secret, public)
    facts = {"type": "manual" if secret == "a" else "feedback", "latency_ms": 5.0 if secret == "a" else 7.0}
    run_request = RunRequest(name, facts=facts)
    builders.submit(database, path, slug, team_name=MASKED[secret], run_request=run_request)
    builders.drain(database)
    builders.revise(database, folder, _judged(secret, public, 5), slug, _left_out(secret, public))
    builders.drain(database)


def _answers(database: Database, folder: Path, secret: str) -> None:
    """A blind task of answers: what another team's run says and cites, as many segments, differs."""
    answered.task(database, folder, "answers", visibility="blind")
    answered.run(database, folder, name="own-answers", team_name="Owls")
    texts = {
        topic: [(f"Only {secret} says this.", [f"only-{secret}"])] * len(segments)
        for topic, segments in answered.TEXTS.items()
    }
    answered.run(database, folder, texts, "other-answers", team_name=MASKED[secret])
    with database.read() as session:
        of_task = TopicSet.task_id == select(Task.id).where(Task.slug == "answers").scalar_subquery()
        public = session.scalar(select(TopicSet.topics).where(TopicSet.name == "public", of_task)) or ()
    twin_nuggets.revise(database, folder, secret, public)
    if secret == "a":
        _label(database)


def _label(database: Database) -> None:
    """Somebody labelled what runs cite, and wrote nuggets."""
    (fay,) = labelled.people(database, "Fay", slug="answers")
    number = labelled.opened(database, "support", [fay], "answers")
    labelled.label_all(database, fay, number, 1)
    labelled.opened(database, "nuggets", [fay], "answers")


def stop_the_clock(database: Database, moment: datetime) -> None:
    """Let all of it have happened at one moment."""
    with database.write() as session:
        for table in metadata.sorted_tables:
            for column in table.columns:
                if isinstance(column.type, UtcDateTime) and not column.primary_key:
                    session.execute(update(table).where(column.is_not(None)).values({column.name: moment}))
        # No evaluator works in a world: how long ago one was seen would differ by when the world is asked.
        session.execute(delete(Worker))


def build(
    template: Path,
    folder: Path,
    secret: str,
    moment: datetime,
    fill: Callable[[Database, Path, str], object] = _fill,
) -> World:
    """World `a` or `b`, as if all of it had happened at one moment."""
    path = shutil.copyfile(template, folder / "world.sqlite3")
    database = Database(f"sqlite:///{path}")
    fill(database, folder, secret)
    stop_the_clock(database, moment)
    # Without a token of its own, whoever is on this machine is told how much of everything there is.
    settings = Settings(data=folder, database_url=f"sqlite:///{path}", metrics_token="nobody-here-knows-it")
    return World(application(settings, database), database, moment)


def pair(
    template: Path, temporary: pytest.TempPathFactory, build: Callable[..., World] = build
) -> Iterator[tuple[World, World]]:
    """Both worlds with the same clock and ids, for a fixture that builds them once."""
    moment = datetime.now(UTC).replace(microsecond=0)
    one, other = (build(template, temporary.mktemp(f"world-{secret}"), secret, moment) for secret in "ab")
    yield one, other
    for world in (one, other):
        world.database.dispose()
