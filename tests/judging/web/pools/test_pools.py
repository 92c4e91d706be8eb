"""An organiser's pages of pools: from the form over the preview to a pool and its files."""

import io
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from flask.testing import FlaskClient
from sqlalchemy import select

from leaderboard.db.engine import Database
from leaderboard.db.tables import Task, TaskRole
from leaderboard.settings import Settings
from tests.make.apps import application
from tests.make.pages import main, parsed, table
from tests.make.people import account
from tests.make.pooled import fill
from tests.web.conftest import browser, enter

POOLS = "/tasks/t/pools"
DEPTH = {"method": "depth", "depth.depth": "2", "seconds": "60", "overlap": "0"}


@pytest.fixture
def organiser(sqlite_template: Path, tmp_path: Path) -> Iterator[FlaskClient]:
    """A browser of the organiser of task t, on SQLite; d1 is judged."""
    path = tmp_path / "site.sqlite3"
    path.write_bytes(sqlite_template.read_bytes())
    settings = Settings(data=tmp_path, database_url=f"sqlite:///{path}")
    database = Database(settings.url)
    fill(database, tmp_path, judgments={"1": {"d1": 1}})
    client = browser(application(settings, database))
    organise(database, client)
    yield client
    database.dispose()


def organise(database: Database, client: FlaskClient, slug: str = "t") -> None:
    """Sign the browser in as somebody who organises the task."""
    account(database, "Olga", is_organiser=True)
    olga = enter(database, client, "Olga")
    with database.write() as session:
        task_id = session.scalars(select(Task.id).where(Task.slug == slug)).one()
        session.add(TaskRole(task_id=task_id, account_id=olga, role="organiser"))


def _make(client: FlaskClient, **fields: str) -> str:
    answer = client.post(POOLS, data={**DEPTH, **fields})
    assert answer.status_code == 303, answer.text
    return answer.headers["Location"]


def test_the_form_offers_the_fields_of_the_chosen_method(organiser: FlaskClient) -> None:
    """At first a depth stage and then fusion, with why; another method has other fields."""
    first = organiser.get(f"{POOLS}/new")
    names = {str(field.get("name")) for field in parsed(first).select("input, select")}
    assert {"staged.depth", "staged.budget", "rrf.k", "rrf.depth", "runs", "cap", "reuse"} <= names
    assert "rrf.budget" not in names
    assert "bandits such as MaxMean found as many relevant documents" in main(first)
    other = organiser.get(f"{POOLS}/new?method=maxmean&step=method")
    names = {str(field.get("name")) for field in parsed(other).select("input, select")}
    assert {"maxmean.credit", "maxmean.depth", "maxmean.budget"} <= names
    assert parsed(other).find(id="preview") is None


def test_the_preview_says_what_judging_takes(organiser: FlaskClient) -> None:
    """Depth 2: four documents, one judged, three minutes; nothing is made."""
    page = organiser.get(f"{POOLS}/new", query_string={**DEPTH, "step": "preview"})
    text = main(page)
    assert "3 to judge" in text
    assert "0.1 hours at 60 seconds each" in text
    assert "25% already judged (revision 1)" in text
    assert "6 entries in their rankings contain 4 distinct documents" in text
    assert table(page, "Contribution of each run") == [["A", "2", "0"], ["B", "2", "0"], ["C", "2", "2"]]
    assert table(page, "Documents of Depth-k by topic")[0][-3:] == ["4", "1", "3"]
    assert "No pools yet" in main(organiser.get(POOLS))


def test_a_pool_is_made_as_it_was_previewed(organiser: FlaskClient) -> None:
    """The hidden fields of the preview make it, and its page has its documents."""
    page = parsed(organiser.get(f"{POOLS}/new", query_string={**DEPTH, "step": "preview"}))
    form = page.select_one(f'form[action="{POOLS}"]')
    assert form is not None
    fields = {str(field["name"]): str(field.get("value", "")) for field in form.select("input")}
    made = organiser.post(POOLS, data={**fields, "note": "for <b>us</b>"})
    assert made.headers["Location"] == f"{POOLS}/1"
    shown = organiser.get(f"{POOLS}/1")
    assert "Depth-k, depth 2. for <b>us</b>" in main(shown)
    assert table(shown, "Documents to judge, by topic") == [["1", "title of 1", "3", "0", "0%", "0"]]
    assert organiser.get(f"{POOLS}/1/documents.txt").text == "1 d1\n1 d2\n1 d8\n1 d9\n"
    rows = table(organiser.get(f"{POOLS}/1/topics/1"), "Depth-k, depth 2: documents")
    assert [row[1] for row in rows] == ["d1", "d2", "d8", "d9"]
    assert [row[-1] for row in rows] == ["1", "–", "–", "–"]


def test_a_pool_is_opened_closed_and_a_draft_discarded(organiser: FlaskClient) -> None:
    """The page offers what can be done now."""
    address = _make(organiser)
    text = main(organiser.get(address))
    assert "0 of 4 documents have a text or a link. Assessors would see only document ids" in text
    assert "Discard this pool? Its list of documents is deleted." in text
    assert organiser.post(f"{address}/state", data={"state": "open"}).status_code == 409
    organiser.post(f"{address}/state", data={"state": "open", "without_texts": "yes"})
    text = main(organiser.get(address))
    assert "open to assessors" in text
    assert "Discard" not in text
    assert organiser.post(f"{address}/discard").status_code == 409
    organiser.post(f"{address}/state", data={"state": "closed"})
    assert "Reopen pool" in main(organiser.get(address))
    draft = _make(organiser)
    assert organiser.post(f"{draft}/discard").headers["Location"] == POOLS
    assert organiser.get(draft).status_code == 404


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"depth.depth": "0"}, "must be a whole number"),
        ({"depth.depth": "deep"}, "must be a whole number"),
        ({"overlap": "2"}, "must be a number from 0 to 1"),
        ({"overlap": "much"}, "must be a number from 0 to 1"),
        ({"cap": "none"}, "must be a whole number from 1 to 1,000"),
        ({"runs": "chosen"}, "Choose at least one run"),
        ({"runs": "chosen", "run": "99"}, "Run 99 is not available for pooling"),
        ({"method": "nonsense"}, "Choose one of staged"),
    ],
)
def test_a_wrong_field_is_named_and_the_form_kept(
    organiser: FlaskClient, fields: dict[str, str], says: str
) -> None:
    """In the preview and where a pool is made."""
    wanted = {**DEPTH, **fields}
    preview = organiser.get(f"{POOLS}/new", query_string={**wanted, "step": "preview"})
    made = organiser.post(POOLS, data=wanted)
    for answer in (preview, made):
        assert answer.status_code in (409, 422)
        assert says in main(answer)
        seconds = parsed(answer).find(id="pool-seconds")
        assert seconds is not None
        assert seconds["value"] == "60"


def test_a_pool_comes_in_as_a_file(organiser: FlaskClient) -> None:
    """NIST's form; a file that cannot be read is answered with its lines."""
    files = {"pool": (io.BytesIO(b"1 d1\n1 x\n"), "mine.txt"), "seconds": "10"}
    made = organiser.post(f"{POOLS}/import", data=files)
    assert "Imported from mine.txt" in main(organiser.get(made.headers["Location"]))
    bad = organiser.post(f"{POOLS}/import", data={"pool": (io.BytesIO(b"1 d1 extra\n7 x\n"), "bad.txt")})
    assert bad.status_code == 422
    assert "this line has 3" in main(bad)
    assert organiser.post(f"{POOLS}/import").status_code == 422


@pytest.mark.parametrize("suffix", [".json", ".csv", ".tex"])
def test_every_table_is_a_file_too(organiser: FlaskClient, suffix: str) -> None:
    """The list, a preview, a pool and a topic of it, under the same name."""
    address = _make(organiser)
    for page in (POOLS, f"{POOLS}/new", address, f"{address}/topics/1"):
        found = organiser.get(f"{page}{suffix}")
        assert found.status_code == 200, page
        assert found.text
    for which in ("topics", "runs", "teams"):
        found = organiser.get(f"{POOLS}/new{suffix}?table={which}&method=take")
        assert found.status_code == 200
    if suffix != ".json":
        assert organiser.get(f"{POOLS}/new{suffix}?table=nothing").status_code == 404
    listed = json.loads(organiser.get(f"{POOLS}.json").text)
    assert listed["pools"][0]["method"] == "Depth-k, depth 2"


def test_the_preview_of_a_pool_is_a_figure_too(organiser: FlaskClient) -> None:
    """The bars by topic can be had as a file."""
    found = organiser.get(f"{POOLS}/new?method=take&step=preview&figure=documents")
    assert found.mimetype == "image/svg+xml"
