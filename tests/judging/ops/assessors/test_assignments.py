"""Giving out a pool's documents, and labels that come by file."""

from collections import Counter
from pathlib import Path

import pytest
from sqlalchemy import select, update

from leaderboard.core.policy import ANONYMOUS, OPERATOR, Viewer
from leaderboard.db.engine import Database
from leaderboard.db.tables import Assessment, Assessor, Assignment, Task
from leaderboard.errors import Closed, Conflict, Forbidden, Invalid, NotFound, SignInNeeded
from leaderboard.judging.ops import judging as assessors
from leaderboard.judging.ops.assessors import labels, log, queues
from leaderboard.judging.ops.assessors.labels import ImportedLabels, LabelsQuery
from leaderboard.judging.ops.assessors.queues import Plan
from leaderboard.judging.page.assessors import assessors as assessor_pages
from tests.make import build, pools
from tests.make.copies import built_once

pytestmark = pytest.mark.dialect

DOCUMENTS = {"1": [f"d{number:02}" for number in range(30)], "2": ["a", "b"], "3": ["a", "b", "c"]}


@pytest.fixture
@built_once
def people(database: Database, tmp_path: Path) -> list[str]:
    """The links of three assessors of a pool of three topics that is not assigned."""
    build.task(database, tmp_path)
    pools.pool(database, DOCUMENTS)
    with database.write() as session:
        links = assessors.add_link(session, OPERATOR, "t", ["Ada", "Grace", "Edsger"])
    return [link.token for link in links]


def _assign(database: Database, *ids: int, **plan: object) -> int:
    with database.write() as session:
        return queues.assign(session, OPERATOR, "t", 1, Plan(ids or (1, 2, 3), **plan))  # type: ignore[arg-type]


def _docnos(database: Database, token: str, topic: str) -> tuple[str, ...]:
    with database.read() as session:
        try:
            return queues.queue(session, token, 1, topic).docnos
        except NotFound:
            return ()


def test_by_topic_each_has_one_owner_and_a_second_for_the_overlap(
    database: Database, people: list[str]
) -> None:
    """The largest topic first, then to whoever has least; 15 % of each is judged by another."""
    assert _assign(database) == 6
    counts = {topic: sorted(len(_docnos(database, each, topic)) for each in people) for topic in DOCUMENTS}
    assert counts == {"1": [0, 5, 30], "2": [0, 1, 2], "3": [0, 1, 3]}


def test_by_share_every_document_has_an_owner(database: Database, people: list[str]) -> None:
    """Each has a third of each topic; a fifth of it is judged twice."""
    assert _assign(database, way="share", overlap=0.2) == 9
    times = Counter(docno for each in people for docno in _docnos(database, each, "1"))
    assert set(times) == set(DOCUMENTS["1"])
    assert Counter(times.values()) == {1: 24, 2: 6}


def test_all_have_everything(database: Database, people: list[str]) -> None:
    """Each in an order of their own where it is random."""
    _assign(database, way="all", order="random", seed=5)
    found = [_docnos(database, each, "1") for each in people]
    assert all(sorted(each) == DOCUMENTS["1"] for each in found)
    assert len(set(found)) == 3


def test_given_out_anew_for_some_topics_alone(database: Database, people: list[str]) -> None:
    """The others keep who had them; judgments stay."""
    _assign(database, 1, way="all")
    _assign(database, 2, way="all", topics=("2",))
    assert [bool(_docnos(database, people[0], topic)) for topic in DOCUMENTS] == [True, False, True]
    assert [bool(_docnos(database, people[1], topic)) for topic in DOCUMENTS] == [False, True, False]
    with database.read() as session:
        page = assessor_pages.assessors_page(session, OPERATOR, "t", 1)
    assert [each.assessors for each in page.topics] == [("Ada",), ("Grace",), ("Ada",)]
    assert {each.assessor.name: each.documents for each in page.assessors} == {
        "Ada": 33,
        "Edsger": 0,
        "Grace": 2,
    }


@pytest.mark.parametrize(
    "plan",
    [
        {"way": "nonsense"},
        {"order": "rank"},
        {"overlap": 1.5},
        {"seed": -1},
        {"topics": ("9",)},
        {"assessors": ()},
        {"assessors": (1, 99)},
    ],
)
def test_a_plan_that_cannot_be(database: Database, people: list[str], plan: dict[str, object]) -> None:
    """Says what is wrong, and changes nothing."""
    wanted = Plan(**{"assessors": (1,), **plan})  # type: ignore[arg-type]
    with database.write() as session, pytest.raises(Invalid):
        queues.assign(session, OPERATOR, "t", 1, wanted)
    with database.read() as session:
        assert session.scalars(select(Assignment)).all() == []


def test_a_closed_pool_is_not_given_out(database: Database, people: list[str]) -> None:
    """Nor does it take labels."""
    pools.set_state(database, "closed")
    with pytest.raises(Closed):
        _assign(database)


def test_only_organisers_may(database: Database, people: list[str]) -> None:
    """A visitor is asked to sign in, another account may not."""
    for viewer, error in ((ANONYMOUS, SignInNeeded), (Viewer(7, "Nina"), Forbidden)):
        with database.write() as session, pytest.raises(error):
            assessors.add_link(session, viewer, "t", ["X"])
        with database.write() as session, pytest.raises(error):
            queues.assign(session, viewer, "t", 1, Plan((1,)))
        with database.read() as session, pytest.raises(error):
            assessor_pages.assessors_page(session, viewer, "t", 1)


@pytest.mark.parametrize("names", [[], ["", " "], ["Ada"], ["ADA "], ["New", "new"], ["\u200b"]])
def test_names_that_cannot_be(database: Database, people: list[str], names: list[str]) -> None:
    """Empty, invisible, or taken by somebody who looks the same."""
    with database.write() as session, pytest.raises((Invalid, Conflict)):
        assessors.add_link(session, OPERATOR, "t", names)


def test_a_link_is_kept_as_a_digest(database: Database, people: list[str]) -> None:
    """Nothing in the database is the token; a renewed link ends the old one."""
    with database.write() as session:
        link = assessors.renew_link(session, OPERATOR, "t", 1)
    with database.read() as session:
        stored = set(session.scalars(select(Assessor.token_sha256)))
        assert not {link.token, *people} & stored
        assert assessors.by_token(session, link.token).name == "Ada"
        with pytest.raises(NotFound):
            assessors.by_token(session, people[0])


def _file(folder: Path, text: str) -> Path:
    path = folder / "labels.txt"
    path.write_text(text)
    return path


def _import(database: Database, path: Path, name: str, origin: str, machine: str = "") -> ImportedLabels:
    prepared = labels.prepare(path)
    with database.write() as session:
        source = LabelsQuery(name=name, origin=origin, origin_name=machine)
        return labels.add(session, OPERATOR, "t", 1, prepared, source)


def test_labels_of_a_machine_stay_marked(database: Database, people: list[str], tmp_path: Path) -> None:
    """They are its own, counted for it alone; documents outside the pool are left out and counted."""
    path = _file(tmp_path, "1 0 d00 1\n1 0 d01 0\n1 0 zz 1\n9 0 d00 1\n")
    assert _import(database, path, "Judge", "machine", "model 3") == ImportedLabels("Judge", 2, 0, 2)
    assert _import(database, path, "Judge", "machine", "model 3") == ImportedLabels("Judge", 0, 2, 2)
    with database.read() as session:
        page = assessor_pages.assessors_page(session, OPERATOR, "t", 1)
        assert len(log.in_force(session, 1)) == 2
    machine = page.assessors[-1]
    assert (machine.is_machine, machine.assessor.origin_name, machine.judged) == (True, "model 3", 2)
    assert page.topics[0].judged == 0
    assert machine not in page.people
    with database.write() as session, pytest.raises(Conflict):
        assessors.renew_link(session, OPERATOR, "t", machine.assessor.id)


def test_labels_never_change_sides(database: Database, people: list[str], tmp_path: Path) -> None:
    """A person's name is not a machine's, nor another machine's; a machine must be named."""
    path = _file(tmp_path, "1 0 d00 1\n")
    _import(database, path, "Judge", "machine", "model 3")
    for name, origin, machine, error in (
        ("Ada", "machine", "model 3", Conflict),
        ("judge", "human", "", Conflict),
        ("Judge", "machine", "model 4", Conflict),
        ("Other", "machine", " ", Invalid),
        ("Other", "click", "", Invalid),
    ):
        with pytest.raises(error):
            _import(database, path, name, origin, machine)
    assert _import(database, path, "Ada", "human").added == 1


def test_labels_have_the_tasks_grades(database: Database, people: list[str], tmp_path: Path) -> None:
    """Others are refused together, none is stored."""
    path = _file(tmp_path, "1 0 d00 1\n1 0 d01 3\n")
    with pytest.raises(Invalid):
        _import(database, path, "Judge", "machine", "model 3")
    with database.write() as session:
        session.execute(update(Task).values(grade_names={"0": "no", "3": "yes"}))
    assert _import(database, path, "Judge", "machine", "model 3").added == 2
    with database.read() as session:
        assert sorted(session.scalars(select(Assessment.grade))) == [1, 3]
