"""Two sites with one task of three phases: training is open, test and late are sealed and differ."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from leaderboard.core.policy import OPERATOR
from leaderboard.db.engine import Database
from leaderboard.runs.ops.limits import RunRequest
from leaderboard.tasks.ops import phases
from leaderboard.tasks.ops.phases import PhasePlan
from leaderboard.trec.qrels.left_out import LeftOut
from tests.make import build as builders
from tests.make import leaves, people, twins
from tests.make.twins import World

SLUG = "season"
TRAINING, TEST = ("1", "2"), ("3", "4", "5", "6")
HIDDEN = {"a": ("a", "b"), "b": ("c", "d")}
"""World -> the documents that are relevant for the topics of the sealed phases."""
SUITE = "year"
OBJECTS: dict[str, Sequence[object]] = {
    "slug": (SLUG,),
    "run_id": range(1, 6),
    "topic_id": ("1", "3"),
    "upload_id": range(1, 6),
    "team_id": (1, 2),
    "name": ("AP",),
    "token": ("nonsense",),
    "number": (1, 2),
    "part": ("qrels", "left_out"),
    "suffix": ("txt",),
    "line_id": (1,),
    "form": ("json", "csv"),
    "address": ("0" * 16,),
    "filename": ("app.css",),
    "item": ("nothing",),
    "side": ("left",),
    "place": (1,),
    "job_id": (1,),
    "session_id": (1,),
    "token_id": (1,),
    "account_id": (1,),
    "assessor_id": (1,),
    "group_id": (1,),
    "invitation_id": (1,),
    "batch_id": (1,),
    "section": ("description",),
    "key": ("nothing",),
    "mail_id": (1,),
    "webhook_id": (1,),
    "message": ("nothing",),
    "digest": ("0" * 16,),
    "kind": ("logo",),
    "suite": (SUITE, "nothing"),
    "suite_run_id": (1, 2, 3),
}


def build(template: Path, folder: Path, secret: str, moment: datetime) -> World:
    """The site of one world."""
    return twins.build(template, folder, secret, moment, _fill)


def _fill(database: Database, folder: Path, secret: str) -> None:
    people.team(database, "Owls", people.account(database, "Ann"))
    people.team(database, "Bears", people.account(database, "Bob"))
    people.account(database, "Stranger")
    relevant, other = HIDDEN[secret]
    judged: dict[str, Mapping[str, int]] = {topic: {"a": 1, "x": 0} for topic in TRAINING}
    judged |= {topic: {relevant: 1, other: 0} for topic in TEST}
    builders.task(database, folder, SLUG, topics=(*TRAINING, *TEST), judgments=judged, measures=("AP", "RR"))
    with database.write() as session:
        training = PhasePlan(name="training", topics="list", topic_list=" ".join(TRAINING))
        phases.change(session, OPERATOR, SLUG, "main", training)
        for name, is_ranked in (("test", True), ("late", False)):
            sealed = PhasePlan(name=name, topics="list", topic_list=" ".join(TEST), visibility="sealed")
            phases.add(session, OPERATOR, SLUG, replace(sealed, ranked=is_ranked))
    _send(database, folder, "training", "Owls", dict.fromkeys(TRAINING, ("a", "x")))
    _send(database, folder, "training", "Bears", dict.fromkeys(TRAINING, ("x", "a")))
    _send(database, folder, "test", "Owls", dict.fromkeys(TEST, ("a", "b", "c", "d")))
    _send(database, folder, "test", "Bears", dict.fromkeys(TEST, (relevant, other)))
    _send(database, folder, "late", "Bears", dict.fromkeys(TEST, (other, relevant)))
    builders.drain(database)
    leaves.add("reproduce", database, 2, 1)
    if secret == "a":
        leaves.add("reproduce", database, 4, 3)
    _leave_out(database, folder, secret, judged)
    _suite(database, folder, secret)


def _leave_out(
    database: Database, folder: Path, secret: str, judged: Mapping[str, Mapping[str, int]]
) -> None:
    """A residual round: of training alike; of sealed topics other documents, and other numbers of them."""
    left_out = {TRAINING[0]: frozenset({b"x"}), TEST[0]: frozenset({b"b"} if secret == "a" else {b"a", b"d"})}
    builders.revise(database, folder, judged, SLUG, LeftOut(left_out, True))
    builders.drain(database)


def _suite(database: Database, folder: Path, secret: str) -> None:
    """A suite of the task and an open one: runs of whichever phase, and in one world one more."""
    builders.task(database, folder, "side", measures=("AP",))
    for team in ("Owls", "Bears"):
        name = f"{team.lower()}-side"
        builders.run(database, folder, {"1": [team, "a"]}, name, slug="side", team_name=team)
    builders.drain(database)
    leaves.add("to_phased", database, secret)


def _send(
    database: Database, folder: Path, phase: str, team: str, rankings: Mapping[str, Sequence[str]]
) -> None:
    name = f"{team}-{phase}".lower()
    run_request = RunRequest(name, phase=phase)
    builders.run(database, folder, rankings, name, slug=SLUG, team_name=team, run_request=run_request)
