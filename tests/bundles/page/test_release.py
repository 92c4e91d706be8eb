"""A release holds no name of a team, a run or a person in any byte, and its map leads back."""

import gzip
import json
from pathlib import Path

import pytest
from sqlalchemy import select, update

from leaderboard.boards.ops import board
from leaderboard.bundles.ops.checking import ImportRequest
from leaderboard.core.policy import OPERATOR
from leaderboard.db.engine import Database
from leaderboard.db.tables import Entry, Task, Team
from leaderboard.runs.ops import withdrawals
from leaderboard.runs.ops.limits import RunRequest
from leaderboard.tasks.ops import announcements
from leaderboard.tasks.ops.announcements import AnnouncementBody
from leaderboard.trec.read.plain import plain_blocks
from tests.bundles import make as bundles
from tests.make import build, judged, people, pools

TEAMS = ("Wombatville", "Zyzzyva Lab", "Ölß")
PEOPLE = ("Ottokar Quast", "Xanthippe Ypsilon", "Judith Kowalczyk")
PLACE = "Technical University of Nowhereheim"
RANKINGS = {"1": ["a", "c", "b"], "2": ["d", "a"], "3": ["e", "f"]}
TEXT = f"{TEAMS[0]} (ottokar quast, {PLACE}) and WOMBATVILLE-BM25 by {TEAMS[2]}"


def _named_task(database: Database, folder: Path) -> None:
    """A task in all whose texts somebody is named."""
    organiser = people.account(database, PEOPLE[0], is_organiser=True)
    member = people.account(database, PEOPLE[1])
    build.task(
        database, folder, viewer=people.viewer(database, organiser), description=TEXT, agreement=TEXT,
        measures=("AP", "nDCG@10"),
    )  # fmt: skip
    for number, team in enumerate(TEAMS):
        people.team(database, team, member)
        _send(database, folder, team, f"{team.split()[0].lower().replace('ölß', 'oelss')}-bm25", number)
    judge = judged.assessor(database, PEOPLE[2])
    example = {"topic": "1", "docno": "", "text": TEXT, "why": TEXT, "grade": 1}
    pools.pool(database, {"1": ["a", "b"]}, note=TEXT, guidelines=TEXT, examples=[example])
    judged.judge(database, judge, "1", {"a": 2, "b": 0}, note=TEXT)
    build.drain(database)
    with database.write() as session:
        session.execute(
            update(Task).values(organisers=PEOPLE[0], contact=PEOPLE[0], licence=f"of {TEAMS[1]}")
        )
        session.execute(update(Team).values(affiliation=PLACE, home_page="https://nowhereheim.example"))
        first = session.scalars(select(Team.id).where(Team.name == TEAMS[0])).one()
        board.declare_group(session, OPERATOR, "t", f"{TEAMS[1]} and friends", teams=[first])
        told = AnnouncementBody(TEXT[:100], TEXT, announcements.EVERYBODY)
        counted = announcements.preview(session, OPERATOR, "t", told).count
        announcements.send(session, OPERATOR, "t", told, counted, None)
        withdrawals.withdraw(session, OPERATOR, 3, TEXT)


def _send(database: Database, folder: Path, team: str, name: str, number: int) -> None:
    path = build.run_file(folder, {**RANKINGS, "1": RANKINGS["1"][number:]}, name)
    path.write_text(f"# ir_metadata.start\n# actor:\n#   team: {team}\n# ir_metadata.end\n{path.read_text()}")
    facts = {"code": f"https://example.org/{name}"}
    build.submit(database, path, team_name=team, run_request=RunRequest(name, description=TEXT, facts=facts))


def _secrets() -> list[str]:
    runs = [f"{team.split()[0].lower().replace('ölß', 'oelss')}-bm25" for team in TEAMS]
    return [*TEAMS, *PEOPLE, *runs, "nowhereheim"]


def test_no_name_is_in_any_byte(database: Database, tmp_path: Path) -> None:
    """Names of teams, runs, people and places are in the map alone; also in packed files, in any case."""
    _named_task(database, tmp_path)
    named = bundles.exported(database, tmp_path / "out", is_release=True)
    assert named is not None
    files = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert {path.suffix for path in files if path.parent.name == "runs"} == {".gz"}
    for path in files:
        plain = f"{path.relative_to(tmp_path)} {b''.join(plain_blocks(path)).decode()}".casefold()
        assert [name for name in _secrets() if name.casefold() in plain] == [], path
        assert [name for name in _secrets() if name.encode() in path.read_bytes()] == [], path
    known = json.loads(named.text())
    assert {each["name"] for each in known["teams"]} == set(TEAMS)


@pytest.mark.trial
def test_the_scores_are_the_same_and_the_map_leads_back(database: Database, tmp_path: Path) -> None:
    """What is scored is what was scored; with the map teams and runs have their names again."""
    _named_task(database, tmp_path)
    bundles.exported(database, tmp_path / "plain")
    named = bundles.exported(database, tmp_path / "out", is_release=True)
    assert named is not None
    known = json.loads(named.text())
    names = {each["pseudonym"]: each["name"] for kind in ("teams", "runs") for each in known[kind]}
    made = bundles.imported(database, tmp_path / "out", ImportRequest(slug="again", names=names))
    assert set(made.teams_known) == set(TEAMS)
    bundles.exported(database, tmp_path / "back", "again")
    scores = [(tmp_path / folder / "scores/topics.csv").read_bytes() for folder in ("plain", "back")]
    assert scores[0] == scores[1]
    hidden = (tmp_path / "out/scores/topics.csv").read_text()
    assert [line.split(",")[2:] for line in hidden.splitlines()] == [
        line.split(",")[2:] for line in scores[0].decode().splitlines()
    ]


def test_a_run_file_keeps_its_rankings(database: Database, tmp_path: Path) -> None:
    """Only the sixth column and the comments are others."""
    _named_task(database, tmp_path)
    named = bundles.exported(database, tmp_path / "out", is_release=True)
    assert named is not None
    path = next((tmp_path / "out/runs").glob("0001-*"))
    lines = gzip.decompress(path.read_bytes()).decode().splitlines()
    tag = lines[0].split()[5]
    assert tag in {each["pseudonym"] for each in json.loads(named.text())["runs"]}
    sent = (tmp_path / "wombatville-bm25.txt").read_text().splitlines()
    assert lines == [f"{line.rsplit(' ', 1)[0]} {tag}" for line in sent if not line.startswith("#")]


def test_pseudonyms_that_readers_know_are_kept_until_a_name_was_shown(
    database: Database, tmp_path: Path
) -> None:
    """Who compares a release with the board finds a team again, but not one whose name both stood for."""
    _named_task(database, tmp_path)
    with database.write() as session:
        session.execute(update(Task).values(naming="team", pseudonym_list="animals", pseudonym_seed="s"))
        for name, pseudonym in zip(TEAMS, ("Otter", "Heron", "Ibex"), strict=True):
            team = select(Team.id).where(Team.name == name).scalar_subquery()
            session.execute(update(Entry).where(Entry.team_id == team).values(pseudonym=pseudonym))
        shown = select(Team.id).where(Team.name == TEAMS[2]).scalar_subquery()
        session.execute(update(Entry).where(Entry.team_id == shown).values(reveal_at=Entry.created_at))
    bundles.exported(database, tmp_path / "out", is_release=True)
    names = [str(row["name"]) for row in bundles.rows(tmp_path / "out", "teams")]
    assert names[:2] == ["Otter", "Heron"]
    assert names[2] not in ("Ibex", *TEAMS)
