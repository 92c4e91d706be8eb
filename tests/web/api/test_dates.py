"""Deadlines as people write them: a day ends with its last second, and seconds are shown."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from click.testing import CliRunner
from sqlalchemy import select

from leaderboard import zones
from leaderboard.cli import main
from leaderboard.db.tables import Phase, Task
from leaderboard.errors import Invalid
from tests.make import build, pages
from tests.make.worlds import TOPICS
from tests.web.api.conftest import Programs
from tests.web.conftest import Site

LAST = datetime(2031, 5, 31, 23, 59, 59, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "zone", "field", "moment"),
    [
        ("2031-05-31", "UTC", "closes", "2031-05-31T23:59:59+00:00"),
        ("20310531", "UTC", "closes_at", "2031-05-31T23:59:59+00:00"),
        ("2031-05-31", "AoE", "closes", "2031-06-01T11:59:59+00:00"),
        ("2031-05-31", "Europe/Vienna", "opens", "2031-05-30T22:00:00+00:00"),
        ("2031-05-31", "UTC", "reveal_at", "2031-05-31T00:00:00+00:00"),
        ("2031-05-31T00:00", "UTC", "closes", "2031-05-31T00:00:00+00:00"),
        ("2031-05-31T12:00:30", "UTC", "closes", "2031-05-31T12:00:30+00:00"),
        ("2031-05-31T12:00+02:00", "AoE", "closes", "2031-05-31T10:00:00+00:00"),
    ],
)
def test_a_day_is_its_end_or_its_beginning(text: str, zone: str, field: str, moment: str) -> None:
    """By what the field is; with a time it is that moment."""
    read = zones.read(text, zone, field)
    assert read is not None
    assert read.isoformat() == moment
    assert zones.read(zones.written(read, zone), zone, field) == read, "what a form shows it reads"


@pytest.mark.parametrize("text", ["31.5.2031", "2031-02-30", "9999-12-31"])
def test_what_is_no_moment_is_refused(text: str) -> None:
    """Also where no calendar goes in UTC."""
    with pytest.raises(Invalid) as refused:
        zones.read(text, "AoE", "closes")
    assert str(refused.value.problems[0]) == (
        f"closes {text!r}: must be a date, or a date and time. Use a form like 2026-05-31 or "
        "2026-05-31T23:59."
    )


def test_every_road_closes_with_the_day(site: Site, program: Programs) -> None:
    """The form, the API and the phases of both; each answer names the zone."""
    browser, olga = site.browser("Olga"), program("Olga", "organise")
    made = olga.ask("PUT", "/tasks/dated?name=Dated", data=TOPICS.encode())
    assert made.status_code == 201, made.text

    def closes() -> datetime | None:
        with site.database.read() as session:
            return session.scalar(select(Phase.closes_at).join(Task).where(Task.slug == "dated"))

    said = olga.ask("PUT", "/tasks/dated/dates", json={"closes_at": "2031-05-31"})
    assert said.json == {"done": "dates set: from no limit until 2031-05-31 23:59:59 UTC"}, said.text
    assert closes() == LAST
    said = olga.ask("PUT", "/tasks/dated/dates", json={"closes_at": "2031-05-31", "zone": "AoE"})
    zoned = "until 2031-05-31 23:59:59 AoE (2031-06-01 11:59:59 UTC)"
    assert said.json == {"done": f"dates set: from no limit {zoned}"}
    address = "/tasks/dated/organise"
    form = pages.form(browser.get(address), f"{address}/dates")
    browser.post(f"{address}/dates", data={**form, "opens_at": "", "closes_at": "2031-05-31", "zone": "UTC"})
    assert closes() == LAST
    assert "2031-05-31 23:59:59" in pages.main(browser.get("/tasks/dated/phases"))
    said = olga.ask(
        "PUT", "/tasks/dated/phases/main", json={"phase": {"name": "main", "closes_at": "2031-06-01"}}
    )
    assert said.json == {"done": "phase changed, from no limit until 2031-06-01 23:59:59 UTC"}


def test_commands_close_with_the_day(
    data_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`task dates` and `task phase` say the moment and its zone."""
    monkeypatch.setenv("LEADERBOARD_DATA", str(data_folder))

    def call(*arguments: object) -> str:
        return CliRunner().invoke(main, [str(argument) for argument in arguments]).output

    call("task", "create", "t", "--name", "A task", "--topics", build.topics_file(tmp_path))
    assert call("task", "dates", "t", "--opens", "2031-05-01", "--closes", "2031-05-31") == (
        "t accepts runs from 2031-05-01 00:00 UTC until 2031-05-31 23:59:59 UTC.\n"
    )
    call("task", "phase", "add", "t", "second", "--closes", "2031-06-30", "--zone", "AoE")
    assert "second\topen\tuntil 2031-07-01 11:59:59 UTC" in call("task", "phase", "list", "t")
