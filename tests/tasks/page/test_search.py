"""The search over the site finds what the viewer may know of, under the names that the viewer knows."""

from pathlib import Path

import pytest
from sqlalchemy import select, update

from leaderboard.core.policy import ANONYMOUS, OPERATOR, Viewer
from leaderboard.db.engine import Database
from leaderboard.db.tables import Phase, Run, Task, Team, Topic
from leaderboard.errors import Invalid
from leaderboard.scoring.ops import collections
from leaderboard.tasks.page.search import SearchPage, search_page
from tests.make import build, people
from tests.make.copies import built_once


@pytest.fixture
@built_once
def runs(database: Database, tmp_path: Path) -> list[int]:
    """Runs of two teams in two tasks, of which one says more of itself."""
    build.task(database, tmp_path, "news", name="News retrieval")
    build.task(database, tmp_path, "law", name="Case law")
    made = [
        build.run(database, tmp_path, {"1": ["a"]}, name, slug=slug, team_name=team)
        for slug, name, team in (
            ("news", "dense-1", "Owls"),
            ("news", "sparse", "Bears"),
            ("law", "dense-2", "Bears"),
        )
    ]
    _describe(database, made[1], "BM25 with *feedback*")
    return made


def _describe(database: Database, run_id: int, description: str) -> None:
    with database.write() as session:
        session.get_one(Run, run_id).description = description


def found(database: Database, query: str, viewer: Viewer = ANONYMOUS) -> SearchPage:
    """What a viewer finds."""
    with database.read() as session:
        return search_page(session, viewer, query)


def names(page: SearchPage) -> tuple[list[str], list[str], list[str]]:
    """Of tasks, runs and teams."""
    return [row.name for row in page.tasks], [row.name for row in page.runs], [row.name for row in page.teams]


def test_all_words_in_any_case(database: Database, runs: list[int]) -> None:
    """In names of tasks, runs and teams, and in descriptions; every word must be there."""
    assert names(found(database, "DENSE")) == ([], ["dense-2", "dense-1"], [])
    assert names(found(database, "dense  owls")) == ([], ["dense-1"], [])
    assert names(found(database, "bears")) == ([], ["dense-2", "sparse"], ["Bears"])
    assert [row.runs for row in found(database, "bears").teams] == [2]
    assert names(found(database, "law")) == (["Case law"], [], [])
    assert names(found(database, "feedback bm25")) == ([], ["sparse"], [])
    assert found(database, "nothing such").found == 0
    assert found(database, "  ").query == ""


def test_letters_of_patterns_are_letters(database: Database, runs: list[int]) -> None:
    """Signs that stand for others in SQL stand for themselves."""
    assert [found(database, query).found for query in ("%%", "__", "d_nse", "\\\\")] == [0] * 4


@pytest.mark.dialect
def test_letters_of_any_alphabet_are_found_in_any_case(database: Database, runs: list[int]) -> None:
    """Also those whose case the database does not know, and a letter that is two in the other case."""
    texts = ("Größe ÉTUDE", "STRASSE", "\N{KELVIN SIGN}elvin")
    for run_id, text in zip(runs, texts, strict=True):
        _describe(database, run_id, text)
    for query, name in (
        ("grösse étude", "dense-1"),
        ("GRÖSSE", "dense-1"),
        ("straße", "sparse"),
        ("kelvin", "dense-2"),
        ("étude owls", "dense-1"),
    ):
        assert names(found(database, query))[1] == [name], query


@pytest.mark.dialect
def test_words_are_found_by_their_beginnings(database: Database, runs: list[int]) -> None:
    """Also behind a sign, and where letters meet digits; not in their middle. A new name is found at once."""
    for query in ("den", "dense-", "sparse", "feedb", "25", "spa bea", "bea spa"):
        assert found(database, query).runs, query
    for query in ("ense", "eedback", "m25", "wls"):
        assert found(database, query).found == 0, query
    with database.write() as session:
        session.get_one(Run, runs[0]).name = "renamed"
        session.get_one(Team, session.get_one(Run, runs[0]).team_id).name = "Herons"
    assert names(found(database, "renamed")) == ([], ["renamed"], [])
    assert names(found(database, "herons")) == ([], ["renamed"], ["Herons"])
    # Its tag is as it was.
    assert names(found(database, "dense")) == ([], ["dense-2", "renamed"], [])
    assert found(database, "owls").found == 0


def test_of_many_the_first_are_given_and_more_on_demand(database: Database, tmp_path: Path) -> None:
    """Runs of a sealed task that come first in the index neither count nor hide others."""
    build.task(database, tmp_path, "open")
    build.task(database, tmp_path, "sealed", visibility="sealed")
    for number in range(9):
        build.run(database, tmp_path, {"1": ["a"]}, f"a{number}", slug="sealed", team_name="Owls")
    for number in range(4):
        build.run(database, tmp_path, {"1": ["a"]}, f"b{number}", slug="open", team_name="Owls")
    with database.read() as session:
        pages = [search_page(session, ANONYMOUS, "owls", most) for most in (1, 3, 4)]
        ours = search_page(session, OPERATOR, "owls", 20)
    assert [(len(page.runs), page.more) for page in pages] == [(1, ("runs",)), (3, ("runs",)), (4, ())]
    assert {run.slug for page in pages for run in page.runs} == {"open"}
    assert (len(ours.runs), [team.runs for team in ours.teams]) == (13, [13])


@pytest.mark.dialect
def test_topics_are_found_by_id_and_title(database: Database, tmp_path: Path) -> None:
    """By how their words begin, in any case, newest task first; those of a draft only by its organisers."""
    build.task(database, tmp_path, "news", name="News retrieval")
    build.task(database, tmp_path, "law", name="Case law", publish=False)
    with database.write() as session:
        for topic in session.scalars(select(Topic).where(Topic.topic_id == "1")):
            topic.title = "Night Owls 100% Größe"
    assert found(database, "of 1").topics == ()
    for query in ("owl nig", "100%", "GRÖSSE", "größe 1"):
        assert [(row.topic_id, row.slug) for row in found(database, query).topics] == [("1", "news")], query
    assert [row.slug for row in found(database, "owls", OPERATOR).topics] == ["law", "news"]
    assert found(database, "wls").topics == ()
    with database.read() as session:
        page = search_page(session, OPERATOR, "owls", 1)
    assert ([row.slug for row in page.topics], page.more) == (["law"], ("topics",))


@pytest.mark.dialect
def test_a_document_is_found_by_its_id(database: Database, tmp_path: Path) -> None:
    """As typed, where its text is stored, for each task on its collection that the viewer may know of."""
    build.task(database, tmp_path, "news", name="News retrieval")
    build.task(database, tmp_path, "law", name="Case law", publish=False)
    file = tmp_path / "docs.jsonl"
    file.write_text('{"docno": "Doc-b", "title": "Owls", "text": "Birds"}\n{"docno": "Doc-d", "text": "x"}\n')
    documents = collections.prepare(file)
    with database.write() as session:
        made = collections.add(session, OPERATOR, "birds", documents=documents)
        session.execute(update(Task).values(collection_id=made.id))
    for query, slugs in (("Doc-b", ["news"]), ("doc-b", []), ("Doc-c", []), ("Doc-e", []), ("Aa", [])):
        assert [row.slug for row in found(database, query).documents] == slugs, query
    assert [row.title for row in found(database, "Doc-b").documents] == ["Owls"]


@pytest.mark.parametrize("query", ["a", "x" * 101])
def test_a_query_of_another_length_is_refused(database: Database, query: str) -> None:
    """One character finds nearly everything; no name is that long."""
    with pytest.raises(Invalid, match="must have 2 to 100"):
        found(database, query)


def test_a_team_under_a_pseudonym_is_found_by_it(database: Database, runs: list[int]) -> None:
    """Its name, its runs' names and its description lead nowhere, but for organisers."""
    with database.read() as session:
        bears = session.get_one(Run, runs[1]).team_id
    people.mask(database, bears, "Violet")
    assert names(found(database, "violet")) == ([], ["Violet-1", "Violet-1"], [])
    for query in ("bears", "sparse", "feedback", "dense-2"):
        assert found(database, query).found == 0, query
    assert names(found(database, "bears", OPERATOR))[1:] == (["dense-2", "sparse"], ["Bears"])


def test_what_is_held_back_is_not_found(database: Database, runs: list[int]) -> None:
    """Drafts, runs of a sealed task, withdrawn runs."""
    with database.write() as session:
        session.execute(update(Phase).values(visibility="sealed"))
    assert names(found(database, "dense")) == ([], [], [])
    assert found(database, "bears").found == 0
    assert names(found(database, "dense", OPERATOR))[1] == ["dense-2", "dense-1"]
