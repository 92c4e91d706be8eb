"""The log: one event a line in both forms, without tokens and forged lines."""

import json
import logging
from collections.abc import Iterator

import pytest

from leaderboard import logs
from leaderboard.errors import Invalid

FORGED = "a\n2026-11-22T00:00:00 ERROR b\r\x1b[2J\u2028c"


@pytest.fixture(autouse=True)
def _log_as_before() -> Iterator[None]:
    """The root logger is as before afterwards."""
    root = logging.getLogger()
    before, level = list(root.handlers), root.level
    yield
    root.handlers[:] = before
    root.setLevel(level)


def _log_all(form: str) -> None:
    logs.configure(form)
    log = logging.getLogger("leaderboard.test")
    log.info("%s /judge/SECRET/1", FORGED, extra={"facts": {"path": FORGED, "status": 200, "of": None}})
    try:
        raise ValueError(f"{FORGED} /join/SECRET")
    except ValueError:
        log.exception("failed")


def test_text_is_one_line_an_event_and_an_indented_trace(capsys: pytest.CaptureFixture[str]) -> None:
    """Only real events begin at the margin, and none holds a token or a control character."""
    _log_all("text")
    written = capsys.readouterr().err
    margin = [line for line in written.split("\n") if line and not line.startswith("    | ")]
    assert [line.split()[1] for line in margin] == ["INFO", "ERROR"]
    assert " status=200 of=-" in margin[0]
    assert "/judge/<token>/1" in margin[0]
    assert not logs.CONTROL.search(written.replace("\n", ""))
    assert "SECRET" not in written


def test_json_is_one_object_an_event(capsys: pytest.CaptureFixture[str]) -> None:
    """Each line is JSON with the facts of the event, a trace where there is one, and no token."""
    _log_all("json")
    written = capsys.readouterr().err
    first, second = map(json.loads, written.splitlines())
    assert (first["level"], first["status"], first["path"]) == ("INFO", 200, FORGED)
    assert second["trace"].startswith("Traceback")
    assert "SECRET" not in written


def test_configuring_again_replaces_what_was(capsys: pytest.CaptureFixture[str]) -> None:
    """A process that configures its log twice writes each event once."""
    for _ in range(2):
        logs.configure("text")
    logging.getLogger("leaderboard.test").info("once")
    assert capsys.readouterr().err.count("once") == 1


def test_another_form_is_refused() -> None:
    """The message names the setting and both forms."""
    with pytest.raises(Invalid, match=r"LEADERBOARD_LOG_FORMAT.*text or json"):
        logs.configure("xml")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("//JUDGE//SECRET?x", "//JUDGE//<token>?x"),
        ("POST /sign-in/SECRET", "POST /sign-in/<token>"),
        ("/tasks/t/revisions/drafts/SECRET.json", "/tasks/t/revisions/drafts/<token>"),
        ("/sign-in?next=/join/SECRET", "/sign-in?next=/join/<token>"),
        ("/judge/", "/judge/"),
    ],
)
def test_tokens_are_masked_wherever_they_stand(text: str, expected: str) -> None:
    """In paths, in query strings, in any case, after doubled slashes."""
    assert logs.masked(text) == expected
