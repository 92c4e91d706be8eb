"""Every page that a task of judges may have opens, for a visitor and for its organiser."""

from pathlib import Path

import pytest
from flask import Flask
from flask.testing import FlaskClient

from leaderboard.db.engine import Database
from tests.make import build, judging, people, walks
from tests.web.conftest import SignIn, browser

OBJECTS = {**walks.VALUES, "slug": ("judged",), "run_id": (1, 2), "topic_id": ("1",), "upload_id": (1,)}


@pytest.mark.trial
def test_no_page_fails_on_a_task_of_judges(
    app: Flask, database: Database, client: FlaskClient, sign_in: SignIn, tmp_path: Path
) -> None:
    """Whatever a page makes of a task that has no rankings, it is not an error of the site."""
    olga = sign_in(client, "Olga", is_organiser=True)
    judging.task(database, tmp_path, viewer=people.viewer(database, olga), visibility="blind")
    judging.refer(database, tmp_path)
    judging.judge(database, tmp_path)
    judging.judge(database, tmp_path, judging.ELM, "elm", team_name="Other")
    build.drain(database)
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
