"""`leaderboard worker --site`: one evaluator that works for a site on another machine."""

import signal

import click

from leaderboard import logs
from leaderboard.cli.serving.processes import StopSignals
from leaderboard.errors import Invalid
from leaderboard.settings import Settings


def work(address: str, token: str | None, *, once: bool) -> None:
    """Do the evaluations of the token's task: those that are queued, or all that come until a signal."""
    # Imported here: the other ways to start a worker have no need of it.
    from leaderboard.remote.evaluator import RemoteEvaluator
    from leaderboard.remote.site import Site, Unreachable

    logs.configure(Settings.from_env().log_format)
    if not token:
        raise Invalid("Set LEADERBOARD_TOKEN to the token of a worker: an organiser makes one for the task.")
    evaluator = RemoteEvaluator(Site(address, token))
    if once:
        try:
            click.echo(f"{evaluator.drain()} jobs were done.")
        except Unreachable as error:
            raise click.ClickException(f"{address} does not answer: {error}") from None
        return
    stop = StopSignals(signal.SIGINT, signal.SIGTERM)
    click.echo(f"Evaluating for {address}. Ctrl-C stops it.")
    evaluator.run(stop.is_asked, stop.wait)
