"""Every page that a task of answers may have opens, for a visitor and for its organiser."""

from pathlib import Path

import pytest
from flask import Flask
from flask.testing import FlaskClient

from leaderboard.db.engine import Database
from tests.make import answered, labelled, people, walks
from tests.web.conftest import SignIn, browser

OBJECTS = {**walks.VALUES, "slug": ("answers",), "run_id": (1, 2), "topic_id": ("1",), "upload_id": (1,)}


@pytest.mark.trial
def test_no_page_fails_on_a_task_of_answers(
    app: Flask, database: Database, client: FlaskClient, sign_in: SignIn, tmp_path: Path
) -> None:
    """Whatever a page makes of a task that has no rankings, it is not an error of the site."""
    olga = sign_in(client, "Olga", is_organiser=True)
    answered.task(database, tmp_path, viewer=people.viewer(database, olga))
    answered.run(database, tmp_path)
    answered.run(database, tmp_path, name="second", team_name="Other")
    ada = labelled.people(database, "Ada", slug="answers")
    for kind in ("support", "nuggets"):
        labelled.opened(database, kind, ada, "answers")
    failed, opened = [], 0
    for rule in app.url_map.iter_rules():
        if "GET" not in (rule.methods or ()) or not {"slug", "run_id"} & rule.arguments:
            continue
        for address in walks.paths(rule, OBJECTS):
            for asker in (browser(app), client):
                status = asker.get(address).status_code
                opened += status == 200
                failed += [(status, address)] * (status >= 500)
    assert failed == []
    assert opened > 50
