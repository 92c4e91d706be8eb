"""The command: log in, check and submit runs, read scores; for people and for continuous integration."""

from __future__ import annotations

import json
import platform
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import click

from leaderboard_submit import __version__, logins, precheck, suite_verbs
from leaderboard_submit.client import Client, Submitted, Verdict, named
from leaderboard_submit.common import (
    CSV,
    JSON,
    TABLE,
    client_of,
    file_argument,
    say_csv,
    say_json,
    say_table,
    write_pieces,
)
from leaderboard_submit.errors import ClientError, NotAllowed, NotFound, Rejected

REFUSED = 1
"""Exit code where a file was rejected."""
LINE_EVERY_S = 5.0
"""Between two lines about what was sent, where no bar can be drawn."""


class Verbs(click.Group):
    """The commands; an error ends in a message, a remedy, and the exit code of its kind."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the verb."""
        try:
            return super().invoke(ctx)
        except ClientError as error:
            _say_error(error)
            ctx.exit(error.exit_code)


def _say_error(error: ClientError) -> None:
    click.echo(f"Error: {error.message}", err=True)
    _say_problems(error.problems)
    if error.remedy:
        click.echo(error.remedy, err=True)
    if isinstance(error, NotAllowed):
        click.echo("Next: leaderboard-submit login ADDRESS", err=True)
    elif isinstance(error, NotFound) and "task" in error.message:
        click.echo("Next: leaderboard-submit tasks", err=True)


def _say_problems(problems: Sequence[dict[str, Any]], what: str = "problem") -> None:
    for problem in problems:
        place = f"line {problem['line']}" if problem.get("line") else problem.get("field") or what
        value = f" {problem['value']!r}:" if problem.get("value") else ""
        count = f" ({problem['count']} times)" if problem.get("count", 1) > 1 else ""
        text = f"  {place}:{value} {problem['rule']}{count} {problem.get('remedy') or ''}"
        click.echo(text.rstrip(), err=True)


@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__)
@click.option("--site", metavar="ADDRESS", help="Address of the site [the last one you logged in to].")
@click.pass_context
def main(ctx: click.Context, site: str | None) -> None:
    """Submit runs to a leaderboard and read their scores."""
    ctx.obj = site


@main.command()
@click.argument("address")
@click.option("--label", default=None, help="Label of the token on the site.")
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    default=("read", "submit"),
    type=click.Choice(("read", "submit", "organise", "judge")),
    help="Scopes of the token.",
)
@click.option("--agent", is_flag=True, help="For `mcp`: a token that marks runs as submitted by an agent.")
def login(address: str, label: str | None, scopes: tuple[str, ...], agent: bool) -> None:
    """Log in to the site at ADDRESS: enter a short code there in any browser."""
    client, kind = Client(address), "agent" if agent else "personal"
    begun = client.begin_login(label or platform.node() or "a machine", scopes, kind)
    click.echo(f"Open {begun['address']} and type: {begun['user_code']}")
    click.echo(f"Waiting up to {begun['expires_in_s'] // 60} minutes ...", err=True)
    token = client.wait_for_login(begun)
    logins.keep(client.url, token, kind)
    account = Client(client.url, token).account()
    teams = ", ".join(team["name"] for team in account["teams"]) or "no team yet"
    click.echo(f"Logged in as {account['account']} ({teams}).")


@main.command()
@click.pass_context
def logout(ctx: click.Context) -> None:
    """Revoke the tokens stored on this machine, including an agent's."""
    url = logins.site(ctx.obj)
    try:
        for token in {logins.token(url, kind) for kind in logins.PLACES} - {None}:
            Client(url, token).ask("DELETE", "/account/token")
    finally:
        logins.forget(url)
    click.echo("Logged out.")


@main.command()
@click.option("--format", "form", type=click.Choice((TABLE, JSON)), default=TABLE)
@click.pass_context
def tasks(ctx: click.Context, form: str) -> None:
    """List the tasks of the site."""
    rows = client_of(ctx).tasks()
    if form == JSON:
        return say_json(rows)
    return say_table(("task", "name", "topics", "runs"), rows)


@main.command()
@click.argument("task")
@click.argument("runs", nargs=-1, required=True, type=file_argument)
@click.option("--phase", default="")
@click.pass_context
def check(ctx: click.Context, task: str, runs: tuple[Path, ...], phase: str) -> None:
    """Check each of RUNS against TASK without submitting; public tasks need no login."""
    client, rejected = client_of(ctx), 0
    limits = client.limits(task, phase)
    for run in runs:
        wrong = precheck.problems(run, limits)
        verdict = Verdict(False, wrong, [], []) if wrong else client.check(task, run, phase=phase)
        click.echo(f"{run}: {'accepted' if verdict.accepted else 'rejected'}")
        _say_problems(verdict.problems)
        _say_problems(verdict.warnings, "warning")
        rejected += not verdict.accepted
    ctx.exit(REFUSED if rejected else 0)


@main.command()
@click.argument("task")
@click.argument("runs", nargs=-1, required=True, type=file_argument)
@click.option("--team", help="Team that submits; required if you are in several.")
@click.option("--name", help="Name of the run [the tag in the file, else the file name].")
@click.option("--kind", default="official", show_default=True)
@click.option("--phase", default="")
@click.option(
    "--late", default="", metavar="WHY", help="Organisers: reason to accept the run after the deadline."
)
@click.option(
    "--describe",
    "said",
    default="",
    metavar="TEXT|FILE",
    help="A description, a file with one, or a .json file with run metadata.",
)
@click.option("--wait/--no-wait", default=True, help="Wait for scores.")
@click.option(
    "--timeout", type=float, default=3600.0, show_default=True, help="Maximum time to wait, in seconds."
)
@click.option(
    "--again", is_flag=True, help="Submit the file even if it was submitted under this name before."
)
@click.option("--format", "form", type=click.Choice((TABLE, JSON)), default=TABLE)
@click.pass_context
def submit(
    ctx: click.Context,
    /,
    task: str,
    runs: tuple[Path, ...],
    form: str,
    said: str,
    timeout: float,
    **wish: Any,
) -> None:
    """Submit RUNS to TASK and print their scores.

    Problems of a file are printed with line, value, rule and remedy, and the exit code is 1; the other
    files are still submitted.
    """
    if wish["name"] and len(runs) > 1:
        raise click.UsageError("--name needs a single run. Leave it out.")
    tags = [precheck.tag(run) for run in runs]
    client, done, rejected = client_of(ctx), [], 0
    description, facts = _description(said)
    limits, given = client.limits(task, wish["phase"]), wish.pop("name")
    for run, tag in zip(runs, tags):
        # Files that share a tag would be one run.
        name = given or named(tag if tags.count(tag) == 1 else "", run)
        try:
            wrong = precheck.problems(run, limits)
            if wrong:
                raise Rejected(f"{run} would be rejected, so it was not submitted.", "", {"problems": wrong})
            if not given:
                click.echo(f"{run} was already submitted as {name}. Use --name for another name.", err=True)
            with _progress(run) as progress:
                made = client.submit(
                    task,
                    run,
                    name=name,
                    description=description,
                    facts=facts,
                    timeout_s=timeout,
                    progress=progress,
                    **wish,
                )
        except Rejected as error:
            click.echo(f"{run}: rejected", err=True)
            _say_error(error)
            rejected += 1
            continue
        done.append(made)
        if form == TABLE:
            _say_submitted(made, _rank_range(client, made) if made.rank is not None else "")
    if form == JSON:
        say_json([made.facts | {"url": made.url, "sha256": made.sha256} for made in done])
    ctx.exit(REFUSED if rejected else 0)


def _description(said: str) -> tuple[str, dict[str, str]]:
    path = Path(said) if said and len(said) < 256 and "\n" not in said else None
    if path is None or not path.is_file():
        return said, {}
    text = path.read_text("utf-8")
    if path.suffix != ".json":
        return text.strip(), {}
    facts = json.loads(text)
    return str(facts.pop("description", "")), {key: str(value) for key, value in facts.items()}


def _rank_range(client: Client, made: Submitted) -> str:
    """Which ranks the run may have, where the site has computed it."""
    rows = client.rows(f"/tasks/{made.task}/runs", own=True, search=made.name)
    row = next((row for row in rows if row["run"] == made.name), {})
    low, high = row.get("rank_low"), row.get("rank_high")
    return "" if low is None else f" (rank {low} to {high} at 95 % confidence)"


def _say_submitted(made: Submitted, rank_range: str) -> None:
    if made.run_id is None:
        click.echo(f"{made.name}: valid, held until an organiser accepts it\n  {made.url}")
        return
    click.echo(f"{made.name}: accepted, run {made.run_id} of {made.team}")
    _say_problems(made.warnings, "warning")
    shown = {key: value for key, value in made.scores.items() if value is not None}
    for key, value in shown.items():
        click.echo(f"  {key:<16} {value:.4f}")
    if made.rank is not None:
        click.echo(f"  rank {made.rank}{rank_range}")
    if not shown:
        words = {"waiting": "waiting for judgments", "failed": "could not be scored", "done": "held back"}
        click.echo(f"  scores: {words.get(made.state, made.state)}")
    if made.left_today is not None:
        limit = f" ({made.limit})" if made.limit else ""
        in_all = "" if made.left_in_all is None else f", {made.left_in_all} in total"
        click.echo(f"  left to submit: {made.left_today} today{limit}{in_all}")
    click.echo(f"  {made.url}")


@contextmanager
def _progress(run: Path) -> Iterator[Callable[[int, int], None]]:
    """A bar on a terminal; elsewhere a line every few seconds."""
    if sys.stderr.isatty():
        with click.progressbar(length=run.stat().st_size, label=run.name, file=sys.stderr) as bar:
            yield lambda sent, _: bar.update(sent - bar.pos)
        return
    last = time.monotonic()

    def say(sent: int, length: int) -> None:
        nonlocal last
        if time.monotonic() - last >= LINE_EVERY_S:
            last = time.monotonic()
            click.echo(f"{run.name}: {sent:,} of {length:,} bytes sent ({sent * 100 // length}%)", err=True)

    yield say


@main.command()
@click.argument("task")
@click.option("--measure", help="Measure to sort by.")
@click.option("--phase")
@click.option("--format", "form", type=click.Choice((TABLE, CSV, JSON)), default=TABLE)
@click.pass_context
def results(ctx: click.Context, task: str, measure: str | None, phase: str | None, form: str) -> None:
    """Show the leaderboard of TASK."""
    board = client_of(ctx).board(task, measure=measure, phase=phase)
    if form == JSON:
        return say_json(board)
    # The measure that the board is sorted by comes first.
    keys = sorted(board["measure_versions"], key=lambda key: key != board["sorted_by"])
    rows = [{**row, **row["scores"]} for row in board["rows"]]
    columns = ("rank", "run", "team", *keys)
    if form == CSV:
        return say_csv(("run_id", *columns), rows)
    if board["why"]:
        click.echo(board["why"], err=True)
    return say_table(columns, rows)


@main.command()
@click.argument("task")
@click.option("--format", "form", type=click.Choice((TABLE, JSON)), default=TABLE)
@click.pass_context
def runs(ctx: click.Context, task: str, form: str) -> None:
    """List the runs of your teams in TASK."""
    client = client_of(ctx)
    own = {team["name"] for team in client.account()["teams"]}
    rows = [row for row in client.board(task)["rows"] if row["team"] in own]
    if form == JSON:
        return say_json(rows)
    return say_table(("run_id", "run", "team", "kind", "state", "rank"), rows)


@main.command()
@click.argument("run", type=int)
@click.option("--not", "is_back", is_flag=True, help="Unmark the run.")
@click.pass_context
def choose(ctx: click.Context, run: int, is_back: bool) -> None:
    """Mark RUN, by its number, as final."""
    click.echo(client_of(ctx).choose(run, not is_back)["state"])


@main.command()
@click.argument("run", type=int)
@click.option("--why", required=True, help="Reason, shown on the run page.")
@click.pass_context
def withdraw(ctx: click.Context, run: int, why: str) -> None:
    """Withdraw RUN from the leaderboard."""
    click.echo(client_of(ctx).withdraw(run, why)["state"])


@main.command()
@click.argument("run", type=int)
@click.pass_context
def restore(ctx: click.Context, run: int) -> None:
    """Restore a withdrawn RUN."""
    click.echo(client_of(ctx).restore(run)["state"])


@main.command()
@click.argument("run", type=int)
@click.argument("said", metavar="TEXT|FILE")
@click.pass_context
def describe(ctx: click.Context, run: int, said: str) -> None:
    """Describe RUN by a text, or by a .json file of run attributes."""
    description, facts = _description(said)
    client_of(ctx).describe(run, description or None, facts)
    click.echo("described")


@main.command()
@click.argument("run", type=int)
@click.option("--output", "-o", type=click.File("wb"), default="-", help="Output file [standard output].")
@click.pass_context
def download(ctx: click.Context, run: int, output: BinaryIO) -> None:
    """Download the file of RUN as submitted."""
    write_pieces(output, client_of(ctx).download(f"/runs/{run}/file"))


@main.command()
@click.argument("task")
@click.option("--revision", type=int, help="Revision number [the newest].")
@click.option(
    "--part",
    type=click.Choice(("qrels", "distractors", "left_out", "nuggets", "assignments", "support", "argue")),
    default="qrels",
    help="Part of the judgments; qrels contains all of them.",
)
@click.option("--output", "-o", type=click.File("wb"), default="-", help="Output file [standard output].")
@click.pass_context
def qrels(ctx: click.Context, task: str, revision: int | None, part: str, output: BinaryIO) -> None:
    """Download the judgments of TASK, if you may see them."""
    client = client_of(ctx)
    if revision is None:
        revision = max((row["revision"] for row in client.rows(f"/tasks/{task}/revisions")), default=None)
    if revision is None:
        raise NotFound(f"{task} has no judgments yet.")
    write_pieces(output, client.download(f"/tasks/{task}/revisions/{revision}/file", part=part))


@main.command()
@click.argument("task")
@click.argument("number", type=int)
@click.option("--format", "form", type=click.Choice(("nist", "csv", "jsonl")), default="nist")
@click.option("--output", "-o", type=click.File("wb"), default="-", help="Output file [standard output].")
@click.pass_context
def pool(ctx: click.Context, task: str, number: int, form: str, output: BinaryIO) -> None:
    """Download the documents of pool NUMBER of TASK, for its organisers."""
    write_pieces(output, client_of(ctx).download(f"/tasks/{task}/pools/{number}/file", form=form))


@main.command("mcp")
@click.pass_context
def serve_agents(ctx: click.Context) -> None:
    """Serve these commands to an agent over the Model Context Protocol (standard input and output).

    It uses an agent token, which marks its runs as submitted by an agent. Without one, it shows a
    short code for you to approve in any browser.
    """
    try:
        from leaderboard_submit.mcp_server import server
    except ImportError as error:
        raise click.ClickException(
            'Install the extra first: pip install "leaderboard-submit[mcp]"'
        ) from error
    client = client_of(ctx, "agent")
    server(client, keep=lambda token: logins.keep(client.url, token, "agent")).run("stdio")


for verb in suite_verbs.VERBS:
    main.add_command(verb)

if __name__ == "__main__":
    main()
