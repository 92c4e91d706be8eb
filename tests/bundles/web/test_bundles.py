"""A task's export in the browser, and how it is cited."""

import io
import json
import zipfile
from pathlib import Path

import pytest
from sqlalchemy import func, select, update

from leaderboard.bundles.ops import opening
from leaderboard.bundles.web import bundles
from leaderboard.db.tables import Audit, Phase, Task
from tests.judges import of_judges
from tests.web.conftest import Site


def test_an_organiser_fetches_the_whole_task(site: Site, tmp_path: Path) -> None:
    """The settings lead there; the archive is whole, and that it was fetched is on record, once an hour."""
    client = site.browser("Olga")
    assert 'href="/tasks/robots/export.zip"' in client.get("/tasks/robots/settings").text
    for _ in range(2):
        answer = client.get("/tasks/robots/export.zip")
        assert answer.status_code == 200
        # What is on record is written once the answer was sent.
        answer.close()
    assert answer.headers["Content-Disposition"] == "attachment; filename=robots.zip"
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.content_length == len(answer.data)
    (tmp_path / "robots.zip").write_bytes(answer.data)
    with opening.opened(tmp_path / "robots.zip") as files:
        opening.require_whole(files)
        assert "http://localhost/tasks/robots" in files.file("CITATION.cff").read_text()
    with site.database.read() as session:
        acts = select(func.count()).where(Audit.subject == "address:/tasks/robots/export.zip")
        assert session.scalar(acts) == 1


def test_exports_are_counted(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """More than so many an hour, or at once, are refused with the time to wait."""
    client = site.browser("Olga")
    monkeypatch.setattr(bundles, "AN_HOUR", 1)
    assert client.get("/tasks/robots/export.zip").status_code == 200
    refused = client.get("/tasks/robots/export.zip")
    assert (refused.status_code, "Retry-After" in refused.headers) == (429, True)
    monkeypatch.setattr(bundles, "AN_HOUR", 100)
    with bundles._turn(), bundles._turn():
        assert client.get("/tasks/robots/export.zip").status_code == 503
    assert client.get("/tasks/robots/export.zip").status_code == 200


def test_how_a_task_is_cited(site: Site) -> None:
    """The About page has BibTeX under a fold and leads to each form; all say the same."""
    with site.database.write() as session:
        facts = {"organisers": "Robot Lab & friends", "licence": "CC BY 4.0", "name": 'Robots: "100 %"'}
        session.execute(update(Task).where(Task.slug == "robots").values(**facts))
    client = site.browser()
    about = client.get("/tasks/robots/about").text
    assert "<summary>Cite this task</summary>" in about
    for form in ("cff", "bib", "json"):
        assert f'href="/tasks/robots/citation.{form}"' in about
    cff = client.get("/tasks/robots/citation.cff").text
    assert 'title: "Robots: \\"100 %\\""\n' in cff
    assert 'license: "CC-BY-4.0"\n' in cff
    assert '  - name: "Robot Lab & friends"\n' in cff
    bib = client.get("/tasks/robots/citation.bib").text
    assert "@misc{robots," in bib
    assert 'title = {{Robots: "100 \\%"}},' in bib
    assert "author = {{Robot Lab \\& friends}}," in bib
    datacite = json.loads(client.get("/tasks/robots/citation.json").text)
    assert datacite["creators"] == [{"name": "Robot Lab & friends", "nameType": "Organizational"}]
    assert datacite["url"] == "http://localhost/tasks/robots"
    with zipfile.ZipFile(io.BytesIO(site.browser("Olga").get("/tasks/robots/export.zip").data)) as archive:
        for form, name in (("cff", "CITATION.cff"), ("bib", "citation.bib"), ("json", "datacite.json")):
            assert archive.read(name).decode() == client.get(f"/tasks/robots/citation.{form}").text


@pytest.mark.trial
def test_tasks_of_judges_go_out_too(site: Site, tmp_path: Path) -> None:
    """Once they are over everybody downloads them; before, their organisers alone have an export."""
    of_judges.build(site.database, tmp_path, organiser="Olga")
    olga, visitor = site.browser("Olga"), site.browser()
    assert "/tasks/held/task.zip" in visitor.get("/tasks/held/about").text
    assert "/tasks/held/export.zip" in olga.get("/tasks/held/settings").text
    first, again = (visitor.get("/tasks/held/task.zip") for _ in range(2))
    assert first.data == again.data
    with site.database.write() as session:
        session.execute(update(Phase).values(closes_at=None))
    assert visitor.get("/tasks/held/task.zip").status_code == 404
    assert visitor.get("/tasks/held/export.zip").status_code in (302, 303, 401, 403)
    assert "/tasks/held/task.zip" not in visitor.get("/tasks/held/about").text
    body = olga.get("/tasks/held/export.zip").data
    with zipfile.ZipFile(io.BytesIO(body)) as archive:
        assert "qrels/1-main-1.board.json" in archive.namelist()
