"""A small site with people, teams, tasks, a run and uploads, for tests of who sees and does what."""

from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import select, update

from leaderboard.accounts.ops import accounts
from leaderboard.boards.ops import snapshots
from leaderboard.db.engine import Database
from leaderboard.db.tables import Invitation, Job, TaskPicture
from leaderboard.judging.ops import judging
from leaderboard.judging.ops.assessors import queues
from leaderboard.judging.ops.judging import PersonalLink
from leaderboard.judging.ops.pools import pools, previews
from leaderboard.judging.ops.pools.previews import PoolPlan
from leaderboard.runs.ops import limits, prepare, uploads
from leaderboard.runs.ops.limits import RunRequest
from leaderboard.runs.ops.uploads import Delivery, Submission
from leaderboard.tasks.ops import drafts
from leaderboard.tasks.ops.drafts import TaskDraft
from leaderboard.tasks.ops.pictures.pictures import ADDRESS
from leaderboard.trec.read.lines import Limits
from tests.make import keys, leaves, pictures
from tests.make.copies import built_once
from tests.make.people import account, invitation, join, team, viewer

TOPICS = "1\tfirst topic\n2\tsecond topic\n3\tthird topic\n"
QRELS = "1 0 d1 2\n1 0 d2 0\n2 0 d3 1\n4 0 d9 1\n3 0 d4 0\n"
RUN = "1 Q0 d1 1 3.0 tag\n1 Q0 d2 2 2.0 tag\n2 Q0 d3 1 1.0 tag\n3 Q0 d4 1 1.0 tag\n"
BAD_RUN = "1 Q0 d1 1 3.0 tag\n1 Q0 d1 2 nan tag\n"


@dataclass(frozen=True)
class World:
    """Ids of what the site holds; Anna and Berta are in Owls, Carl in Bears, Nina in no team.

    Olga organises `robots` (published, with a run of Owls and an open pool, number 1) and `draft`; Otto
    organises `other` (published).
    """

    olga: int
    otto: int
    anna: int
    berta: int
    carl: int
    nina: int
    owls: int
    bears: int
    run: int
    accepted: int
    rejected: int
    job: int
    invitation: str
    invited: int
    """The number of that invitation."""
    link: str
    snapshot: str
    assessor: int
    judge: str
    """The personal link of that assessor, to whom the pool is assigned."""
    logo: str
    """The address of the logo that `robots` and `draft` have."""


def make_task(database: Database, folder: Path, organiser: int, slug: str, *, published: bool = True) -> None:
    """A task named after its slug with three topics and five judgments."""
    topics, judged = folder / "topics.tsv", folder / "qrels.txt"
    topics.write_text(TOPICS)
    judged.write_text(QRELS)
    draft = TaskDraft(
        slug=slug,
        name=slug.title(),
        topics=topics,
        qrels=judged,
        qrels_name="qrels.txt",
        description="*About* it.",
    )
    prepared = drafts.prepare(draft)
    maker = viewer(database, organiser)
    with database.write() as session:
        drafts.create(session, maker, prepared)
    if slug != "other":
        pictures.give(database, folder, slug)
    if published:
        maker = viewer(database, organiser)
        with database.write() as session:
            drafts.publish(session, maker, slug)


def send(
    database: Database,
    folder: Path,
    sender: int,
    slug: str,
    team_id: int,
    text: str = RUN,
    name: str = "first",
) -> Submission:
    """What became of a run file sent by an account for its team."""
    path, asker = folder / "run.txt", viewer(database, sender)
    path.write_text(text)
    with database.read() as session:
        rules = limits.rules_for(session, asker, slug, team_id)
    prepared = prepare.prepare(path, f"{name}.txt", rules, Limits())
    with database.write() as session:
        run_request = RunRequest(name)
        delivery = Delivery(sender=asker, slug=slug, team_id=team_id, file=prepared, run_request=run_request)
        return uploads.submit(session, delivery)


def make_pool(database: Database, organiser: int, slug: str) -> int:
    """The number of an open pool of all that the task's runs have, to be judged anew."""
    maker = viewer(database, organiser)
    plan = PoolPlan({"name": "depth", "depth": 10}, reuse=False)
    with database.read() as session:
        made = previews.preview(session, maker, slug, plan)
    with database.write() as session:
        number = pools.add(session, maker, made)
        pools.change(session, maker, slug, number, pools.OPEN, highest_grade=1, without_texts=True)
    return number


def make_assessor(database: Database, organiser: int, slug: str, number: int) -> PersonalLink:
    """Somebody who is to judge all of a pool."""
    maker = viewer(database, organiser)
    with database.write() as session:
        (link,) = judging.add_link(session, maker, slug, ["Ada"])
        queues.assign(session, maker, slug, number, queues.Plan([link.assessor_id]))
    return link


@built_once
def build(database: Database, folder: Path) -> World:
    """Fill an empty site."""
    keys.give(database)
    olga, otto = (account(database, name, is_organiser=True) for name in ("Olga", "Otto"))
    anna, berta, carl, nina = (account(database, name) for name in ("Anna", "Berta", "Carl", "Nina"))
    owls, bears = team(database, "Owls", anna), team(database, "Bears", carl)
    join(database, owls, anna, berta)
    make_task(database, folder, olga, "robots")
    make_task(database, folder, olga, "draft", published=False)
    make_task(database, folder, otto, "other")
    accepted = send(database, folder, anna, "robots", owls)
    rejected = send(database, folder, anna, "robots", owls, BAD_RUN, "second")
    assert accepted.run_id is not None
    judge = make_assessor(database, olga, "robots", make_pool(database, olga, "robots"))
    asker, token = viewer(database, anna), invitation(database, anna, team_id=owls)
    with database.write() as session:
        link = accounts.sign_in_link(session, nina)
        session.execute(update(Job).values(state="failed", error="It broke."))
        job = session.scalars(select(Job.id)).one()
        invited = session.scalars(select(Invitation.id).order_by(Invitation.id.desc())).first() or 0
        logo = session.scalars(select(TaskPicture.sha256).distinct()).one()[:ADDRESS]
    with database.read() as session:
        frozen = snapshots.freeze(session, asker, "robots")
    with database.write() as session:
        snapshot = snapshots.keep(session, asker, frozen)
    leaves.add("to_world", database, accepted.run_id)
    return World(
        *(olga, otto, anna, berta, carl, nina, owls, bears),
        *(accepted.run_id, accepted.upload_id, rejected.upload_id, job, token, invited, link, snapshot),
        *(judge.assessor_id, judge.token, logo),
    )
