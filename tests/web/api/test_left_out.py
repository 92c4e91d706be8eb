"""Documents left out by topic, sent by programs: lists, archives, residual rounds."""

import io
import zipfile
from pathlib import Path
from typing import Any

from tests.make import build
from tests.web.api.conftest import Programs
from tests.web.conftest import Site

JUDGED = {"1": {"d1": 0, "d2": 0, "d3": 1}, "2": {"e1": 1}, "3": {"f1": 0}}


def test_programs_send_lists_archives_and_rounds(site: Site, program: Programs, tmp_path: Path) -> None:
    """A list alone, judgments with their list in a zip, and a residual round; the file is handed out."""
    olga = program("Olga", "read", "organise")

    def ask(method: str, path: str, **given: Any) -> Any:
        answer = olga.ask(method, path, **given)
        assert answer.status_code < 300, answer.text
        return answer.json

    topics = build.topics_file(tmp_path).read_bytes()
    ask("PUT", "/tasks/left?name=Left", data=topics)
    address = "/tasks/left/revisions"
    draft = ask("POST", f"{address}/drafts?note=n", data=build.qrels_file(tmp_path, JUDGED).read_bytes())
    assert draft["left_out"] is None
    ask("POST", f"{address}/drafts/{draft['draft']}/publish", json={})
    draft = ask("POST", f"{address}/drafts?holds=left_out&note=n", data=b"1 d1\n")
    assert draft["left_out"]["after"] == 1
    ask("POST", f"{address}/drafts/{draft['draft']}/publish", json={})
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("qrels.txt", "1 0 d1 1\n1 0 d9 1\n")
        archive.writestr("left_out.txt", "1 old\n")
        archive.writestr("changed_docnos.txt", "old new\n")
    draft = ask("POST", f"{address}/drafts?holds=parts&note=n", data=packed.getvalue())
    assert (draft["left_out"]["added"], draft["left_out"]["removed"]) == (1, 1)
    ask("POST", f"{address}/drafts/{draft['draft']}/publish", json={})
    body = {"earlier": [1], "later": 3, "note": "Round 2."}
    draft = ask("POST", f"{address}/residual", json={**body, "changed_docnos": {"d2": "d9"}})
    assert draft["left_out"]["topics"] == {"1": 3, "2": 1, "3": 1}
    made = ask("POST", f"{address}/drafts/{draft['draft']}/publish", json={})
    assert made["number"] == 4
    answer = olga.ask("GET", f"{address}/4/file?part=left_out")
    assert answer.text == "1 d1\n1 d3\n1 d9\n2 e1\n3 f1\n"
