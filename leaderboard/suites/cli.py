"""`leaderboard suites`: the suites of a site, made, changed, sent to and printed."""

from pathlib import Path
from typing import Any

import click

from leaderboard.accounts.ops import teams
from leaderboard.core.cli.actions import acting, chosen, command, options
from leaderboard.core.cli.site import FILE, data_option, opened
from leaderboard.core.policy import OPERATOR
from leaderboard.runs.ops.uploads import RunDetails
from leaderboard.suites import page as pages
from leaderboard.suites.ops import changes, sending
from leaderboard.suites.page import SuiteChoice, SuitePage
from leaderboard.tables.latex import latex_text
from leaderboard.tables.markdown import table_lines
from leaderboard.tables.record import csv_text, json_text

BY = ("mean", "macro", "micro", "borda", "mean-rank")
GROUP = "domain=NAME, language=NAME or lag=NAME"


@click.group()
def suites() -> None:
    """Suites: several tasks with one board."""


@suites.command("list")
@data_option
def list_(data: Path | None) -> None:
    """List the suites of the site."""
    with opened(data) as (database, _), database.read() as session:
        for row in pages.suites(session, OPERATOR):
            state = "\toff the site" if row.is_withdrawn else ""
            click.echo(f"{row.slug}\t{row.title}\t{', '.join(row.members)}{state}")


@suites.command()
@click.argument("file", type=FILE)
@data_option
def make(file: Path, data: Path | None) -> None:
    """Create a suite from a TOML FILE with a slug, a title and a table [[members]] for each task."""
    draft = changes.read_toml(file.read_text(encoding="utf-8"))
    with acting(data) as do:
        outcome = do(changes.MAKE, draft, suite=draft["slug"])
    click.echo(f"/suites/{outcome.result}")


@suites.command()
@click.argument("slug")
@click.argument("file", type=FILE)
@data_option
def change(slug: str, file: Path, data: Path | None) -> None:
    """Replace the settings of suite SLUG from a TOML FILE; members it does not name are removed."""
    draft = changes.read_toml(file.read_text(encoding="utf-8"))
    with acting(data) as do:
        do(changes.CHANGE, draft, suite=slug)


suites.add_command(command(changes.WITHDRAW, back=changes.RESTORE))


@suites.command()
@click.argument("slug")
@click.argument("archives", type=FILE, nargs=-1, required=True)
@click.option("--team", required=True, help="Team of the runs; created if it does not exist.")
@options(RunDetails, without=("team_id",))
@data_option
def add(slug: str, archives: tuple[Path, ...], team: str, data: Path | None, **given: Any) -> None:
    """Submit ARCHIVES (zip or tar, one folder per member) to the suite SLUG; each in full or not at all."""
    with acting(data) as do, do.writing() as session:
        team_id = teams.ensure(session, OPERATOR, team)
    values = chosen(RunDetails, given) | {"team_id": team_id}
    for path in archives:
        with acting(data) as do:
            outcome = do(sending.SEND, values, {"file": path}, suite=slug, name="")
        click.echo(f"{path}: /suites/{slug}/runs/{outcome.result}")


@suites.command()
@click.argument("slug")
@click.argument("name")
@click.argument("runs", metavar="MEMBER=RUN...", nargs=-1, required=True)
@click.option("--team", required=True, help="Team that has the runs.")
@data_option
def join(slug: str, name: str, runs: tuple[str, ...], team: str, data: Path | None) -> None:
    """Create the suite run NAME from a team's existing runs, given by member and number."""
    for run in runs:
        if not run.partition("=")[2].isdecimal():
            raise click.BadParameter(f"write a member and a run number, such as law=12, not {run!r}.")
    with acting(data) as do:
        with do.writing() as session:
            team_id = teams.ensure(session, OPERATOR, team)
        new = {"team_id": team_id, "name": name, "runs": " ".join(runs)}
        outcome = do(changes.PUT_TOGETHER, new, suite=slug)
    click.echo(f"/suites/{slug}/runs/{outcome.result}")


@suites.command("board")
@click.argument("slug")
@click.option("--rank-by", "by", type=click.Choice(BY), default="mean", show_default=True)
@click.option(
    "--group", "groups", metavar="KIND=NAME", multiple=True, help=f"Only members of this group: {GROUP}."
)
@click.option("--members", type=click.Choice(["these", "like-these"]), default="these", show_default=True)
@click.option("--baseline", metavar="RUN", default="", help="Baseline run for gains. [the suite's]")
@click.option("--table", "name", type=click.Choice(list(pages.SUITE_FILES.tables)), default="board")
@click.option(
    "--format",
    "layout",
    type=click.Choice(["text", "json", "csv", "latex"]),
    default="text",
    show_default=True,
)
@data_option
def board(
    slug: str,
    by: str,
    groups: tuple[str, ...],
    members: str,
    baseline: str,
    name: str,
    layout: str,
    data: Path | None,
) -> None:
    """Print the board of the suite SLUG, its changes or its pairs."""
    choice = SuiteChoice(
        by=by.replace("-", "_"),
        like_these=members == "like-these",
        groups=tuple((key, value) for key, _, value in (group.partition("=") for group in groups)),
        baseline=baseline,
    )
    with opened(data) as (database, _), database.read() as session:
        page = pages.suite_page(session, OPERATOR, slug, choice)
    click.echo(_text(page, name, layout), nl=False)


def _text(page: SuitePage, name: str, layout: str) -> str:
    table = pages.SUITE_FILES.table(page, name)
    if layout == "json":
        return json_text(pages.suite_facts(page))
    if layout == "csv":
        return csv_text(table)
    if layout == "latex":
        return latex_text(table)
    left_out = [f"{member.name} does not count here: {member.why}" for member in page.left_out]
    notes = [*left_out, *page.remarks, *([page.why_not] if page.why_not else [])]
    lines = [table.caption, *notes, *(["", *table_lines(table, "-")] if table.columns else [])]
    return "\n".join([*lines, ""])
