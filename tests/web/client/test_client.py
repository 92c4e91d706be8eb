"""The client against a site behind its own server: checked, sent, waited for, read."""

import hashlib
import io
import zipfile
from collections.abc import Callable, Mapping
from email.message import Message
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.error import HTTPError

import pandas as pd
import pytest
from leaderboard_submit import (
    Client,
    NotAllowed,
    NotFound,
    Refused,
    Rejected,
    Unreachable,
    pieces,
    precheck,
    written,
)
from sqlalchemy import select

from leaderboard.db.tables import Run
from tests.make import build
from tests.make.worlds import BAD_RUN, RUN
from tests.web.api.conftest import Programs
from tests.web.conftest import Site

RANKINGS = {"1": {"d1": 3.0, "d2": 2.0}, "2": {"d3": 1.0}, "3": {"d4": 1.0}}


def test_a_run_is_sent_and_its_scores_come_back(client: Client, tmp_path: Path) -> None:
    """With its digest, what is left and where to look; sent again it is the same run."""
    path = tmp_path / "1.run"
    path.write_text(RUN)
    assert client.check("robots", path).accepted
    sent: list[tuple[int, int]] = []
    made = client.submit("robots", path, progress=lambda at, of: sent.append((at, of)))
    assert (made.name, made.team, made.state) == ("tag", "Owls", "done")
    assert made.sha256 == hashlib.sha256(RUN.encode()).hexdigest()
    assert sent[-1] == (len(RUN), len(RUN))
    rows = {row["run"]: row for row in client.board("robots")["rows"]}
    assert made.scores == rows["tag"]["scores"]
    assert made.rank == rows["tag"]["rank"]
    assert client.submit("robots", path).run_id == made.run_id
    with pytest.raises(Rejected) as caught:
        client.submit("robots", path, again=True)
    assert "tag" in str(caught.value.problems)


def test_a_rejected_run_says_line_value_rule_and_remedy(client: Client) -> None:
    """As the site says it, checked or sent."""
    assert [problem["line"] for problem in client.check("robots", BAD_RUN.encode()).problems] == [2]
    with pytest.raises(Rejected) as caught:
        client.submit("robots", BAD_RUN.encode(), name="bad")
    (problem,) = caught.value.problems
    assert problem["line"] == 2
    assert problem["rule"]
    assert problem["remedy"]


def test_a_run_is_described_chosen_withdrawn_and_restored(client: Client, site: Site) -> None:
    """And the site has it so."""
    run = client.submit("robots", RANKINGS, name="own", facts={"type": "manual"}).run_id
    client.describe(run, "BM25.")
    assert client.choose(run)["state"] == "chosen"
    assert client.withdraw(run, "A mistake.")["state"] == "withdrawn"
    assert client.run(run)["withdrawn"] == "A mistake."
    client.restore(run)
    assert client.run(run)["withdrawn"] == ""
    with site.database.read() as session:
        row = session.get_one(Run, run)
        assert row.description == "BM25."
        assert "manual" in str(row.details)


def test_errors_have_kinds(
    client: Client, clients: Callable[..., Client], address: str, program: Programs
) -> None:
    """No such task, no token, no scope, another team, a late site: each its own."""
    with pytest.raises(NotFound, match="nothing"):
        client.task("nothing")
    with pytest.raises(NotAllowed):
        clients(address).submit("robots", RANKINGS, name="x")
    with pytest.raises(NotAllowed, match="submit"):
        clients(address, program("Berta", "read").secret).withdraw(1, "No.")
    with pytest.raises(NotFound, match="Owls"):
        client.submit("robots", RANKINGS, name="x", team="Bears")
    with pytest.raises(Refused, match="needs a name"):
        client.submit("robots", RANKINGS)
    with pytest.raises(Unreachable):
        Client("http://127.0.0.1:9", sleep=lambda _: None).tasks()
    with pytest.raises(Refused, match="plain http"):
        Client("http://example.org", "lb_x")
    with pytest.raises(Refused, match="not a valid site address"):
        Client("example.org")


def test_what_is_busy_is_asked_again(clients: Callable[..., Client], address: str) -> None:
    """With the pauses that the site asks for; what it refuses for good is not."""
    pauses: list[float] = []
    client = Client(address, sleep=pauses.append)
    answers = [_busy(503, "7"), _busy(503, None), io.BytesIO(b'{"tasks": []}')]
    opened: list[str] = []

    def open_(asked: Any, timeout: float) -> Any:
        opened.append(asked.full_url)
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    client._transport._opener = SimpleNamespace(open=open_)  # type: ignore[assignment]
    assert client.tasks() == []
    assert pauses == [7.0, 1.0]
    assert opened == [f"{address}/api/v1/tasks"] * 3
    answers[:] = [_busy(503, "900")]
    with pytest.raises(Unreachable):
        client.tasks()


def _busy(status: int, pause: str | None) -> Exception:
    headers = Message()
    if pause is not None:
        headers["Retry-After"] = pause
    return HTTPError("", status, "", headers, io.BytesIO(b""))


def test_rankings_of_every_kind_are_written_alike(client: Client, site: Site) -> None:
    """Dicts, a DataFrame, polars-like and ranx-like, ScoredDoc-like; trec_eval's order, bits kept."""
    rows = [
        (topic, docno, score) for topic, documents in RANKINGS.items() for docno, score in documents.items()
    ]
    frame = pd.DataFrame(rows, columns=["qid", "docno", "score"])
    scored = [SimpleNamespace(query_id=topic, doc_id=docno, score=score) for topic, docno, score in rows]
    ranx = SimpleNamespace(to_dict=lambda: RANKINGS)
    ranks = pd.DataFrame([("q", "b", 2), ("q", "a", 1)], columns=["query_id", "doc_id", "rank"])
    wanted = written(RANKINGS)
    assert {written(given) for given in (frame, scored, iter(scored), ranx)} == {wanted}
    assert written({"q": ["a", "b"]}).split()[2::6] == written(ranks).split()[2::6] == [b"a", b"b"]
    assert written({"q": {"a": 0.1 + 0.2}}).split()[4] == b"0.30000000000000004"
    tied = written({"q": {"a": 1.0, "b": 1.0}}).split()[2::6]
    assert tied == [b"b", b"a"]
    assert client.check("robots", frame).accepted
    with site.database.read() as session:
        assert session.scalars(select(Run.name)).all() == ["first"]
    for wrong in ({}, {"q": {"a b": 1.0}}, {"q": {"a": float("nan")}}, {"q": ["a", "a"]}, 3, [1], {"q": 1}):
        with pytest.raises(Refused):
            written(wrong)


def test_a_large_file_goes_in_pieces_and_goes_on(
    site: Site, client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cut again and again, and given up once: only what did not come is sent again."""
    monkeypatch.setattr(pieces, "FROM_BYTES", 1)
    monkeypatch.setattr(pieces, "PIECE_BYTES", 20)
    path = tmp_path / "large.run"
    path.write_text(RUN)
    ask, sent = client._transport.ask, []

    def cut(method: str, address: str, **given: Any) -> Any:
        if method == "PATCH":
            sent.append(given["headers"]["Upload-Offset"])
            if len(sent) in (2, 3):
                raise Unreachable("cut")
            if len(sent) == 4:
                raise KeyboardInterrupt
        return ask(method, address, **given)

    monkeypatch.setattr(client._transport, "ask", cut)
    with pytest.raises(KeyboardInterrupt):
        client.submit("robots", path)
    told: list[tuple[int, int]] = []
    made = client.submit("robots", path, progress=lambda at, of: told.append((at, of)))
    assert sent[:5] == ["0", "20", "20", "20", "20"]
    assert told[-1] == (len(RUN), len(RUN))
    assert (made.state, made.sha256) == ("done", hashlib.sha256(RUN.encode()).hexdigest())
    assert b"".join(client.download(f"/runs/{made.run_id}/file")) == RUN.encode()
    bad = tmp_path / "bad.run"
    bad.write_text(BAD_RUN)
    with pytest.raises(Rejected) as caught:
        client.submit("robots", bad, name="bad")
    assert caught.value.problems[0]["line"] == 2


def test_lists_are_read_to_their_end(client: Client) -> None:
    """Part by part."""
    assert [row["topic"] for row in client.rows("/tasks/robots/topics", limit=1)] == ["1", "2", "3"]


def test_a_suite_run_is_sent_whole_and_read(site: Site, client: Client) -> None:
    """An archive makes a run in each member's task once, however often it is sent; a wrong one makes none."""
    members = {"robots/run.txt": RUN.encode(), "other/run.txt": RUN.encode()}
    sent = client.submit_suite("both", _archive(members), name="whole")
    again = client.submit_suite("both", _archive(members), name="whole")
    assert again["suite_run"] == sent["suite_run"]
    assert [row["member"] for row in sent["members"] if row["run_id"]] == ["robots", "other"]
    build.drain(site.database)
    assert "whole" in {row["run"] for row in client.suite("both")["board"]}
    with pytest.raises(Rejected) as caught:
        client.submit_suite("both", _archive({"robots/run.txt": b"1 Q0 d1\n"}), name="wrong")
    assert [problem["line"] for problem in caught.value.problems] == [1]


def _archive(files: Mapping[str, bytes]) -> bytes:
    body = io.BytesIO()
    with zipfile.ZipFile(body, "w") as archive:
        for name, text in files.items():
            archive.writestr(zipfile.ZipInfo(name), text)
    return body.getvalue()


@pytest.mark.parametrize(
    "text",
    [
        '{\n"1": {"a": 2.0}\n}\n',
        "1\ta\t1\n",
        "qid\tdocid\tscore\n1\ta\t2.0\n",
        "#a Q0 d 1 2 t\n",
        "1 a 1 2.0\n",
    ],
)
def test_forms_that_the_site_reads_are_not_refused_before_they_are_sent(text: str, tmp_path: Path) -> None:
    """The first look knows TREC runs and answers; what any other file is, the site says."""
    (tmp_path / "run").write_text(text)
    assert precheck.problems(tmp_path / "run") == []
