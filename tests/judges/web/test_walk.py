"""Every page that a task of judges may have opens, for a visitor and for its organiser."""

from pathlib import Path

import pytest
from flask import Flask
from flask.testing import FlaskClient

from leaderboard.db.engine import Database
from tests.judges import make as judging
from tests.judges import of_judges
from tests.make import build, people, walks
from tests.web.conftest import SignIn, Site, browser
from tests.web.test_crawl import crawl, faults

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


@pytest.mark.trial
@pytest.mark.parametrize("name", [None, "Olga"])
@pytest.mark.parametrize(("slug", "rest"), [("held", "judges"), ("heard", "judges"), ("said", "")])
def test_pages_of_answers_and_of_judges_are_well_formed_too(
    site: Site, name: str | None, slug: str, rest: str, tmp_path: Path
) -> None:
    """A task of answers, and two of judges that are over: boards, labels of documents, labels of answers."""
    of_judges.build(site.database, tmp_path, organiser="Olga")
    client, broken, met = site.browser(name), [], set[str]()
    within = (f"/tasks/{slug}", "/runs/")
    for address, page in crawl(client, f"/tasks/{slug}/{rest}".rstrip("/"), within):
        met.add(address.partition("?")[0])
        broken += [f"{address}: {fault}" for fault in faults(page)]
    assert broken == []
    assert len(met) > 20
    assert not rest or any("/labels/" in address for address in met)
