"""Two sites with one task whose teams go by pseudonyms: only names, tags, files and team ids differ."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path

from sqlalchemy import select, update

from leaderboard.accounts.ops import sessions
from leaderboard.boards.ops import board, snapshots
from leaderboard.core import policy
from leaderboard.db.engine import Database, now
from leaderboard.db.tables import Entry, Invitation, Run, Snapshot, Task, Team, Upload
from leaderboard.judging.ops.pools import pools, previews
from leaderboard.judging.ops.pools.previews import PoolPlan
from leaderboard.runs.ops import withdrawals
from leaderboard.runs.ops.limits import RunRequest
from leaderboard.tasks.ops.pseudonyms import reviews
from leaderboard.trec.qrels.left_out import LeftOut
from tests.make import build as builders
from tests.make import leaves, people, twins
from tests.make.twins import World

SLUG = "masked"
NAMED = "e" * 16
"""Address of a snapshot that was made while names were shown."""
UNDER_PSEUDONYMS = "f" * 16
SECRETS = {"a": ("Aardvarks", "Zebras", "Quokkas"), "b": ("Zyx Lab", "Beta University", "Mu")}
"""World -> the true names of three teams, which sort otherwise in each."""
TOKEN = "for-reviewers"
GROUP = "students"
PSEUDONYMS = ("Otter", "Heron", "Ibex")
SUITES = {"both": "olgas", "mixed": "plain"}
"""A suite -> the task that is in it beside this one: without a run, or with one of a team by its name."""
OBJECTS: dict[str, Sequence[object]] = {
    "slug": (SLUG,),
    "run_id": (2, 5),
    "topic_id": ("1",),
    "upload_id": (2,),
    "team_id": (2, 3),
    "name": ("AP",),
    "token": ("nonsense", TOKEN),
    "number": (1,),
    "part": ("qrels", "left_out"),
    "suffix": ("txt",),
    "line_id": (1,),
    "form": ("json", "csv"),
    "address": (NAMED, UNDER_PSEUDONYMS),
    "filename": ("app.css",),
    "item": ("nothing",),
    "side": ("left",),
    "place": (1,),
    "job_id": (1,),
    "session_id": (1,),
    "token_id": (1,),
    "account_id": (2,),
    "assessor_id": (1,),
    "group_id": (1, 2, 9),
    "invitation_id": (1, 9),
    "batch_id": (1,),
    "section": ("description",),
    "key": ("nothing",),
    "mail_id": (1,),
    "webhook_id": (1,),
    "message": ("nothing",),
    "digest": ("0" * 16,),
    "kind": ("logo",),
    "suite": (*SUITES, "nothing"),
    "suite_run_id": (1, 2, 4, 5),
}
"""What addresses are filled with."""
DOCNO = "d00"
JUDGMENTS = {"1": {DOCNO: 2, "b": 0, "c": 1}, "2": {"a": 0, "d": 1}, "3": {"e": 3, "f": 1}}
RANKINGS: tuple[Mapping[str, Sequence[str]], ...] = (
    {"1": [DOCNO, "c", "b"], "2": ["d", "a"], "3": ["e", "f"]},
    {"1": ["b", DOCNO], "2": ["a", "d"], "3": ["f", "e"]},
    {"1": ["c", "b", DOCNO], "2": ["a"], "3": ["e"]},
)


def _fill(database: Database, folder: Path, secret: str) -> None:
    ann, *others = (people.account(database, name) for name in ("Ann", "Bob", "Cyd", "Dee", "Stranger"))
    olga = people.account(database, "Olga", is_organiser=True)
    people.team(database, "Owls", ann)
    names = SECRETS[secret]
    # Ids of teams follow the order of their making, which is another one in each world.
    for name, account in sorted(zip(names, others, strict=False)):
        people.team(database, name, account)
    builders.task(database, folder, SLUG, judgments=JUDGMENTS, measures=("AP", "nDCG@10", "RR"))
    builders.task(database, folder, "olgas", viewer=people.viewer(database, olga))
    builders.run(database, folder, RANKINGS[0], "owls-1", slug=SLUG, team_name="Owls")
    for number, name in enumerate((*names, names[0])):
        _send(database, folder, secret, name, number)
    builders.drain(database)
    leaves.add("reproduce", database, 2, 1)
    leaves.add("reproduce", database, 3, 2, 1, 4)
    _freeze(database, NAMED)
    left_out = LeftOut({"1": frozenset({b"b"})}, True)
    builders.revise(database, folder, {**JUDGMENTS, "2": {"a": 1, "d": 0}}, SLUG, left_out)
    builders.task(database, folder, "plain", judgments=JUDGMENTS, measures=("AP",))
    builders.run(database, folder, RANKINGS[0], "plain-1", slug="plain", team_name="Owls")
    builders.drain(database)
    mask(database, secret)
    leaves.add("to_masked", database, secret)
    _freeze(database, UNDER_PSEUDONYMS)
    _pool(database)
    _group(database, secret)


def _send(database: Database, folder: Path, secret: str, team: str, number: int) -> None:
    """A run whose name, tag, file, header and facts say whose it is."""
    word = team.split()[0].lower()
    name = f"{word}-{secret}{number}"
    path = builders.run_file(folder, RANKINGS[number % 3], name)
    facts = {"code": f"https://example.org/{word}", "latency_ms": 5.0 + number}
    run_request = RunRequest(name, description=f"The run of {team}.", facts=facts)
    sent = builders.submit(database, path, SLUG, team_name=team, run_request=run_request)
    assert sent.run_id is not None, sent.report
    if number == 3:
        with database.write() as session:
            withdrawals.withdraw(session, policy.OPERATOR, sent.run_id, f"{team} made a mistake.")


def mask(database: Database, secret: str) -> None:
    """Give the three teams their pseudonyms; the fourth shows its name."""
    with database.write() as session:
        session.execute(update(Task).where(Task.slug == SLUG).values(naming="team"))
        for name, pseudonym in zip(SECRETS[secret], PSEUDONYMS, strict=True):
            team = select(Team.id).where(Team.name == name).scalar_subquery()
            session.execute(update(Entry).where(Entry.team_id == team).values(pseudonym=pseudonym))
        owls = select(Team.id).where(Team.name == "Owls").scalar_subquery()
        shown = {"pseudonym": "Lark", "reveal_at": Entry.created_at}
        session.execute(update(Entry).where(Entry.team_id == owls).values(shown))


def _group(database: Database, secret: str) -> None:
    """Two masked teams are a group, and one of them has a link for reviewers."""
    with database.write() as session:
        ids = dict(session.execute(select(Team.name, Team.id)).all())
        first, second, _ = (ids[name] for name in SECRETS[secret])
        board.declare_group(session, policy.OPERATOR, SLUG, GROUP, teams=[first, second])
        link = Invitation(
            token_sha256=sessions.digest(TOKEN),
            kind=reviews.REVIEW,
            team_id=first,
            task_id=session.scalars(select(Task.id).where(Task.slug == SLUG)).one(),
            created_at=now(session),
            expires_at=now(session) + timedelta(days=1),
        )
        session.add(link)


def _freeze(database: Database, address: str) -> None:
    with database.write() as session:
        frozen = snapshots.freeze(session, policy.OPERATOR, SLUG)
        snapshots.keep(session, policy.OPERATOR, frozen)
        session.execute(update(Snapshot).where(Snapshot.sha256 == frozen.sha256).values(sha256=address * 4))


def _pool(database: Database) -> None:
    """All runs were pooled, so that audits name teams."""
    with database.read() as session:
        made = previews.preview(session, policy.OPERATOR, SLUG, PoolPlan({"name": "take"}, reuse=False))
    with database.write() as session:
        number = pools.add(session, policy.OPERATOR, made)
        pools.change(session, policy.OPERATOR, SLUG, number, pools.OPEN, highest_grade=1, without_texts=True)


def build(template: Path, folder: Path, secret: str, moment: datetime) -> World:
    """World `a` or `b`, as if all of it had happened at one moment."""
    world = twins.build(template, folder, secret, moment, _fill)
    with world.database.write() as session:
        session.execute(update(Invitation).values(expires_at=moment + timedelta(days=1)))
    with world.database.read() as session:
        digests = session.scalars(select(Upload.sha256)).all()
        assert len(set(digests)) == len(digests), "files differ by their tags at least"
        assert sorted(session.scalars(select(Run.id))) == list(range(1, 7))
    return world
