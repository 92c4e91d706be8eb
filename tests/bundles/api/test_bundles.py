"""Whole tasks by programs: an export, and a task made of one or of other files."""

import io
import zipfile
from pathlib import Path

from sqlalchemy import select

from leaderboard.bundles.ops import opening
from leaderboard.db.tables import Task
from tests.make.worlds import QRELS, TOPICS
from tests.web.api.conftest import Programs
from tests.web.conftest import Site

RUN = "1 Q0 a 1 9 t\n1 Q0 b 2 8 t\n2 Q0 c 1 7 t\n"


def _zip(files: dict[str, str]) -> bytes:
    body = io.BytesIO()
    with zipfile.ZipFile(body, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return body.getvalue()


def test_an_export_is_made_a_task_again(site: Site, program: Programs, tmp_path: Path) -> None:
    """By a token of its organiser that may organise; others are told as in the browser."""
    olga = program("Olga", "organise")
    answer = olga.ask("GET", "/tasks/robots/export")
    assert (answer.status_code, answer.mimetype) == (200, "application/zip")
    (tmp_path / "out.zip").write_bytes(answer.data)
    with opening.opened(tmp_path / "out.zip") as files:
        opening.require_whole(files)
    assert program("Olga").ask("GET", "/tasks/robots/export").status_code == 403
    assert program("Otto", "organise").ask("GET", "/tasks/robots/export").status_code == 403
    assert program().ask("GET", "/tasks/robots/export").status_code == 401
    made = olga.ask("PUT", "/tasks/again/import", data=answer.data)
    assert (made.status_code, made.json["is_made"], made.json["is_export"]) == (201, True, True)
    assert [run["run"] for run in made.json["runs"]] == ["first"]
    assert olga.ask("PUT", "/tasks/again/import", data=answer.data).status_code == 409


def test_files_are_looked_at_before(site: Site, program: Programs) -> None:
    """Without storing anything; what is in doubt is made of a token's word only."""
    olga = program("Olga", "organise")
    body = _zip({"qrels.txt": QRELS, "input.one": RUN})
    seen = olga.ask("PUT", "/tasks/track/import?make=false", data=body)
    assert (seen.status_code, seen.json["is_made"]) == (200, False)
    assert seen.json["facts"]["Topics"].endswith("from the qrels file, without titles")
    refused = olga.ask("PUT", "/tasks/track/import?name=Track", data=body)
    assert (refused.status_code, "is_sure=true" in refused.text) == (422, True)
    with site.database.read() as session:
        assert "track" not in session.scalars(select(Task.slug)).all()
    made = olga.ask("PUT", "/tasks/track/import?name=Track&is_sure=true", data=body)
    assert (made.status_code, made.json["name"]) == (201, "Track")


def test_who_may_not_make_tasks_is_refused_first(program: Programs) -> None:
    """Whatever the body is."""
    body = _zip({"topics.tsv": TOPICS})
    assert program("Nina").ask("PUT", "/tasks/track/import", data=body).status_code == 403
    assert program().ask("PUT", "/tasks/track/import", data=body).status_code == 401
