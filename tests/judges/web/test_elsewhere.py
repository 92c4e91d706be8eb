"""Pages of judges whose reference came from another site: what cannot be done again here is said."""

from pathlib import Path

import pytest
from flask.testing import FlaskClient
from sqlalchemy import delete

from leaderboard.core.policy import OPERATOR
from leaderboard.db.engine import Database
from leaderboard.db.tables import Alignment
from leaderboard.tasks.ops import roles
from tests.bundles import make as bundles
from tests.judges import make as judging
from tests.make import build, pages
from tests.web.conftest import SignIn


@pytest.fixture
def olga(
    client: FlaskClient, database: Database, sign_in: SignIn, sqlite_template: Path, tmp_path: Path
) -> FlaskClient:
    """The browser of an organiser of the site that judges of another one were brought to."""
    source = bundles.new_site(sqlite_template, tmp_path / "source")
    judging.ranked(source, tmp_path)
    judging.task(source, tmp_path)
    judging.refer_to(source)
    judging.label(source, tmp_path)
    judging.judge(source, tmp_path, {run: (0.9, 0.5, 0.2) for run in "ABCD"}, "elm", team_name="Other")
    build.drain(source)
    bundles.exported(source, tmp_path / "out", "judged")
    sign_in(client, "Olga", is_organiser=True)
    bundles.imported(database, tmp_path / "out")
    with database.write() as session:
        roles.give(session, OPERATOR, "judged", "Olga", "organiser")
    return client


@pytest.mark.trial
def test_a_judges_page_says_that_its_labels_are_not_scored_again(olga: FlaskClient) -> None:
    """Beside its numbers; of a judge that sent a board there is nothing to say. No link leads to labels."""
    board = olga.get("/tasks/judged/judges.json").json
    assert board is not None
    ids = {judge["judge"]: judge["run_id"] for judge in board["judges"]}
    said = "The runs are not on this site, so they cannot be scored again here"
    oak, elm = (olga.get(f"/tasks/judged/judges/{ids[name]}") for name in ("oak", "elm"))
    assert said in " ".join(pages.main(oak).split())
    assert said not in " ".join(pages.main(elm).split())
    assert "/labels" not in oak.text
    refused = olga.get(f"/tasks/judged/judges/{ids['oak']}/labels")
    assert (refused.status_code, "are not on this site" in refused.text) == (404, True)


@pytest.mark.trial
def test_labels_without_a_board_are_named(olga: FlaskClient, database: Database) -> None:
    """As an organiser brings them, whose bundle is not believed about boards."""
    with database.write() as session:
        session.execute(delete(Alignment))
    page = " ".join(pages.main(olga.get("/tasks/judged/judges")).split())
    assert (
        "the runs of the reference are not on this site and cannot be scored with their labels: oak." in page
    )
