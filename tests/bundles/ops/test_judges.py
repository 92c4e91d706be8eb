"""What visitors and organisers bring of a task of judges: no more is told, and no more believed."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, update

from leaderboard.boards.ops import board as boards
from leaderboard.boards.page import tables
from leaderboard.bundles import page as bundles_pages
from leaderboard.bundles.ops import imports, opening
from leaderboard.bundles.ops.checking import ImportRequest
from leaderboard.bundles.ops.imports import ImportedTask
from leaderboard.core.policy import OPERATOR, Viewer
from leaderboard.db.engine import Database, now
from leaderboard.db.tables import Alignment, Entry, Phase, Run, Task
from leaderboard.errors import NotFound
from leaderboard.runs.ops.limits import RunRequest
from tests.bundles import make as bundles
from tests.judges import make as judging
from tests.make import build, people
from tests.make.copies import built_once


@built_once
def build_both(database: Database, folder: Path) -> None:
    """Judges of a board of rankings and of one of answers: a board and labels each, both tasks over."""
    judging.ranked(database, folder, "ranked")
    judging.answered_task(database, folder, "said")
    judging.task(database, folder, "held")
    judging.refer_to(database, "ranked", "held")
    oak = RunRequest("oak", facts={"llm": "gpt-5"})
    judging.label(database, folder, judging.CONFIDENT, slug="held", run_request=oak)
    board = {run: (0.1 * place, 0.5, 0.2) for place, run in enumerate(judging.RANKINGS)}
    judging.judge(database, folder, board, "elm", slug="held", team_name="Other")
    judging.task(database, folder, "heard", topics=("1", "2"))
    judging.refer_to(database, "said", "heard", "NuggetRecall(set=all)")
    lines = "".join(f"{json.dumps(line)}\n" for line in judging.held_nuggets())
    judging.label(database, folder, lines, "birch", slug="heard")
    build.drain(database)
    with database.write() as session:
        over = now(session) - timedelta(days=1)
        of_judges = select(Task.id).where(Task.kind == "judges")
        session.execute(update(Phase).where(Phase.task_id.in_(of_judges)).values(closes_at=over))


@pytest.fixture
def site(database: Database, tmp_path: Path) -> Database:
    """The site with both."""
    build_both(database, tmp_path)
    return database


@pytest.fixture
def elsewhere(sqlite_template: Path, tmp_path: Path) -> Database:
    """An empty site."""
    return bundles.new_site(sqlite_template, tmp_path / "elsewhere")


def _scores(database: Database, slug: str) -> list[Any]:
    with database.read() as session:
        rows = tables.board_facts(boards.board(session, OPERATOR, slug))["rows"]
    return [(row["rank"], row["scores"]) for row in rows]


def _origin(folder: Path) -> dict[str, Any] | None:
    """Where a bundle says that its reference is from."""
    (path,) = (folder / "qrels").glob("*.board.json")
    told: dict[str, Any] | None = json.loads(path.read_bytes()).get("elsewhere")
    return told


@pytest.mark.parametrize("slug", ["held", "heard"])
def test_visitors_download_it_once_it_is_over(
    site: Database, elsewhere: Database, tmp_path: Path, slug: str
) -> None:
    """The same scores here, where labels are scored again, and on another site, where they are not."""
    bundles.public(site, tmp_path / "out", slug)
    assert (_origin(tmp_path / "out") or {})["slug"] in ("ranked", "said")
    assert bundles.imported(site, tmp_path / "out", ImportRequest(slug="again")).unscored == 0
    assert bundles.imported(elsewhere, tmp_path / "out").unscored == 1
    assert _scores(site, "again") == _scores(elsewhere, slug) == _scores(site, slug)


@pytest.mark.parametrize("hidden", ["sealed", "draft", "withdrawn"])
def test_of_a_board_that_visitors_do_not_see_no_digest_is_told(
    site: Database, elsewhere: Database, tmp_path: Path, hidden: str
) -> None:
    """Its runs' digests would tell who has them; scores come back all the same, and organisers are told."""
    bundles.public(site, tmp_path / "before", "held")
    digests = (_origin(tmp_path / "before") or {})["runs"]
    with site.write() as session:
        task = session.scalars(select(Task).where(Task.slug == "ranked")).one()
        if hidden == "sealed":
            task.visibility = "sealed"
        elif hidden == "draft":
            task.published_at = None
        else:
            session.execute(
                update(Run).where(Run.ranking_sha256 == digests[0]).values(withdrawn_at=now(session))
            )
    bundles.public(site, tmp_path / "out", "held")
    assert _origin(tmp_path / "out") is None
    for name, body in bundles.contents(tmp_path / "out").items():
        assert not any(digest.encode() in body for digest in digests), name
    bundles.imported(elsewhere, tmp_path / "out")
    assert _scores(elsewhere, "held") == _scores(site, "held")
    bundles.exported(site, tmp_path / "whole", "held")
    assert (_origin(tmp_path / "whole") or {})["runs"] == digests


def test_what_another_site_told_its_organisers_visitors_are_not_told(
    site: Database, elsewhere: Database, tmp_path: Path
) -> None:
    """An origin that is not here: whether it is public there, nobody knows."""
    bundles.exported(site, tmp_path / "out", "held")
    bundles.imported(elsewhere, tmp_path / "out")
    bundles.public(elsewhere, tmp_path / "public", "held")
    assert _origin(tmp_path / "public") is None


def test_nothing_goes_out_before_the_close(site: Database, tmp_path: Path) -> None:
    """The reference is the answer: there is no download, whatever the task of the reference shows."""
    with site.write() as session:
        session.execute(update(Phase).values(closes_at=None))
    for slug in ("held", "heard"):
        with pytest.raises(NotFound):
            bundles.public(site, tmp_path / slug, slug)
        assert not (tmp_path / slug).exists()


@pytest.mark.parametrize("slug", ["held", "heard"])
def test_names_that_pages_mask_are_in_no_byte(
    site: Database, elsewhere: Database, tmp_path: Path, slug: str
) -> None:
    """A masked judge's file is written anew: neither its comments nor the name in it are told."""
    name = {"held": "oak", "heard": "birch"}[slug]
    with site.write() as session:
        run = session.scalars(select(Run).join(Task).where(Run.name == name, Task.slug == slug)).one()
        session.execute(update(Task).values(naming="team"))
        session.execute(update(Entry).values(reveal_at=Entry.created_at))
        masked = update(Entry).where(Entry.team_id == run.team_id)
        session.execute(masked.values(pseudonym="Otter", reveal_at=None))
    bundles.public(site, tmp_path / "out", slug)
    told = bundles.contents(tmp_path / "out")
    assert [path for path in told if "Otter" in path and path.startswith("runs/")]
    for path, body in told.items():
        assert name.encode() not in body, path
    bundles.imported(elsewhere, tmp_path / "out")
    assert _scores(elsewhere, slug) == _scores(site, slug)


def _taken(database: Database, viewer: Viewer, folder: Path) -> tuple[tuple[str, ...], ImportedTask]:
    with opening.opened(folder) as files:
        with database.read() as session:
            page = bundles_pages.of_export(session, viewer, files, "again")
        with database.write() as session:
            made = imports.bring(session, viewer, files, ImportRequest(slug="again"))
    build.drain(database)
    return page.doubts, made


@pytest.mark.parametrize("slug", ["held", "heard"])
def test_boards_of_labels_are_not_believed_of_an_organiser(
    site: Database, elsewhere: Database, tmp_path: Path, slug: str
) -> None:
    """Anybody could have written them: these judges have no rank, which the page says before."""
    bundles.exported(site, tmp_path / "out", slug)
    olga = people.viewer(elsewhere, people.account(elsewhere, "Olga", is_organiser=True))
    doubts, made = _taken(elsewhere, olga, tmp_path / "out")
    assert made.unscored == 1
    assert "cannot be scored here" in doubts[-1]
    assert "are unranked" in doubts[-1]
    with elsewhere.read() as session:
        assert session.scalars(select(Alignment.run_id)).all() == []
    with elsewhere.read() as session:
        shown = {row.run: row.scores for row in boards.board(session, OPERATOR, "again").rows}
    with site.read() as session:
        before = {row.run: row.scores for row in boards.board(session, OPERATOR, slug).rows}
    labelled = {"held": "oak", "heard": "birch"}[slug]
    assert all(value is None for value in shown.pop(labelled).values())
    del before[labelled]
    assert shown == before


def test_an_organiser_who_sees_the_board_has_labels_scored(site: Database, tmp_path: Path) -> None:
    """On the site of the reference; where that board is held back from the organiser it is not found."""
    bundles.exported(site, tmp_path / "out", "held")
    olga = people.viewer(site, people.account(site, "Olga", is_organiser=True))
    doubts, made = _taken(site, olga, tmp_path / "out")
    assert made.unscored == 0
    assert not any("cannot be scored" in doubt for doubt in doubts)
    assert _scores(site, "again") == _scores(site, "held")
    with site.write() as session:
        session.execute(update(Task).where(Task.slug == "ranked").values(visibility="sealed"))
        session.execute(update(Task).where(Task.slug == "again").values(slug="once"))
    assert _taken(site, olga, tmp_path / "out")[1].unscored == 1
