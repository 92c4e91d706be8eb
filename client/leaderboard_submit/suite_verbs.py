"""The verbs of suites: their boards read, runs of all their members sent."""

from __future__ import annotations

from pathlib import Path

import click

from leaderboard_submit.common import CSV, JSON, TABLE, client_of, file_argument, say_csv, say_json, say_table

SUITE_RANKS = ("mean", "macro", "micro", "borda", "mean-rank")


@click.command()
@click.argument("name", required=False)
@click.option("--rank-by", "by", type=click.Choice(SUITE_RANKS), default="mean", show_default=True)
@click.option(
    "--members",
    type=click.Choice(("these", "like-these")),
    default="these",
    show_default=True,
    help="Confidence of ranks: over these members, or over similar ones.",
)
@click.option("--table", "part", type=click.Choice(("board", "changes", "pairs")), default="board")
@click.option("--format", "form", type=click.Choice((TABLE, JSON, CSV)), default=TABLE)
@click.pass_context
def suites(ctx: click.Context, name: str | None, by: str, members: str, part: str, form: str) -> None:
    """List the suites of the site, or show the leaderboard of the suite NAME."""
    client = client_of(ctx)
    if name is None:
        rows = list(client.rows("/suites"))
        return say_json(rows) if form == JSON else say_table(("slug", "title", "members"), rows)
    board = client.suite(name, by=by.replace("-", "_"), members=members)
    if form == JSON:
        return say_json(board)
    for one in board["left_out"] if form == TABLE else ():
        click.echo(f"{one['member']} does not count here: {one['why']}")
    rows = board[part]
    columns = tuple(rows[0]) if rows else ()
    if rows:
        (say_csv if form == CSV else say_table)(columns, rows)


@click.command("submit-suite")
@click.argument("suite")
@click.argument("archive", type=file_argument)
@click.option("--name", help="Name of the run in every task [the archive name].")
@click.option("--team", help="Name or number of the team; required if you are in several.")
@click.option("--kind", default="official", show_default=True)
@click.option("--description", default="")
@click.option("--format", "form", type=click.Choice((TABLE, JSON)), default=TABLE)
@click.pass_context
def submit_suite(
    ctx: click.Context,
    suite: str,
    archive: Path,
    name: str | None,
    team: str | None,
    kind: str,
    description: str,
    form: str,
) -> None:
    """Submit ARCHIVE, a zip or tar with one folder per member, to SUITE; in full or not at all."""
    sent = client_of(ctx).submit_suite(
        suite, archive, name=name, team=team, kind=kind, description=description
    )
    if form == JSON:
        return say_json(sent)
    click.echo(f"Submitted as {sent['name']}, suite run {sent['suite_run']}.")
    say_table(("member", "task", "run_id"), sent["members"])


VERBS = (suites, submit_suite)
