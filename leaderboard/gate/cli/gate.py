"""`leaderboard gate`: ends a build where a run is worse than the baseline by more than a margin."""

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from leaderboard.core.cli.failures import Failure, sentence
from leaderboard.core.cli.kinds import DIALECT, EXISTING, LEVEL, MAPPING, tell_notes
from leaderboard.errors import LeaderboardError

if TYPE_CHECKING:
    from leaderboard.trec.scores.scoring import Inputs

WORSE, BROKEN = 1, 2
"""Exit codes: a run that does not pass, and a gate that could not be asked."""


class _Gate(click.Command):
    """The command: whatever goes wrong ends in its own exit code, as 1 says that a run is worse."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except Exception as error:
            raise _Broken(_words(error)) from error


class _Broken(click.ClickException):
    """Reason why the gate reached no verdict."""

    exit_code = BROKEN


def _words(error: Exception) -> str:
    if isinstance(error, LeaderboardError):
        return Failure(error).message
    return sentence(error) if isinstance(error, OSError) else "".join(traceback.format_exception(error))


@click.command(cls=_Gate)
@click.argument("files", metavar="[QRELS] RUN...", type=EXISTING, nargs=-1, required=True)
@click.option(
    "--baseline",
    metavar="RUN",
    required=True,
    help="Run to compare with: a file, or with --site a name or number.",
)
@click.option(
    "-m",
    "--measure",
    "names",
    metavar="NAME",
    multiple=True,
    help="Measure such as nDCG@10; repeatable. [nDCG@10]",
)
@click.option(
    "--margin",
    "margins",
    metavar="[MEASURE=]NUMBER",
    multiple=True,
    help="Tolerated loss of a mean, for one measure or for all; repeatable. [0.01]",
)
@click.option("--strict", is_flag=True, help="Also fail on an inconclusive result.")
@click.option("--qrels", type=EXISTING, help="Judgments; then all FILES are runs.")
@click.option("--site", metavar="URL", help="Site with the baseline and, without --qrels, the judgments.")
@click.option("--task", metavar="TASK", help="Task of the baseline. [required with --site]")
@LEVEL
@DIALECT
@MAPPING
@click.option(
    "--format",
    "layout",
    type=click.Choice(["text", "json", "junit", "markdown"]),
    default="text",
    show_default=True,
)
@click.option(
    "--output",
    "-o",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File for the formatted report; the text report is still printed.",
)
@click.pass_context
def gate(
    context: click.Context,
    files: tuple[Path, ...],
    baseline: str,
    names: tuple[str, ...],
    margins: tuple[str, ...],
    strict: bool,
    qrels: Path | None,
    site: str | None,
    task: str | None,
    level: int,
    dialect: str,
    mapping: tuple[str, ...],
    layout: str,
    output: Path | None,
) -> None:
    """Test whether each RUN is better than the baseline, no worse, or worse by more than a margin.

    The first file is QRELS, unless --qrels or --site provides the judgments. Exit code 0 unless a run
    is worse (1); 2 if the gate could not run. Several runs and measures are tested under one
    correction (Holm).
    """
    from leaderboard.gate import ops, page
    from leaderboard.trec.read.forms import asked
    from leaderboard.trec.scores.scoring import Inputs, Options

    if bool(site) != bool(task):
        raise click.UsageError("--site and --task go together.", context)
    if qrels is None and not site:
        qrels, *rest = files
        files = tuple(rest)
    if not files:
        raise click.UsageError("Missing argument 'RUN...'.", context)
    with _baseline(context, baseline, qrels, site, task) as (name, run, inputs):
        report = ops.report(
            Inputs(inputs.qrels, left_out=inputs.left_out, asked=asked(mapping)),
            run,
            files,
            Options(names or ("nDCG@10",), level, int(dialect)),
            margins,
            name,
        )
    tell_notes(report.notes)
    text = page.FORMATS[layout](report, strict).encode("utf-8", "surrogateescape")
    if output is not None:
        output.write_bytes(text)
        text = page.as_text(report, strict).encode("utf-8", "surrogateescape")
    click.echo(text, nl=False)
    context.exit(WORSE if report.fails(strict=strict) else 0)


@contextmanager
def _baseline(
    context: click.Context, baseline: str, qrels: Path | None, site: str | None, task: str | None
) -> "Iterator[tuple[str, Path, Inputs]]":
    """Name and path of the baseline, and the judgments to score against; fetched from a site if asked."""
    from leaderboard.trec.scores.scoring import Inputs

    if not site or not task:
        if not Path(baseline).is_file():
            raise click.UsageError(f"--baseline: there is no file {baseline}.", context)
        assert qrels is not None, "the first file is the judgments"
        yield "", Path(baseline), Inputs(qrels)
        return
    try:
        from leaderboard.gate.cli.sites import fetch
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "leaderboard_submit":
            raise
        # A distribution of its own, as most who compare files have no need of a site.
        raise click.UsageError("The client is not installed: pip install ./client", context) from None
    with TemporaryDirectory() as folder:
        fetched = fetch(site, task, baseline, Path(folder), with_qrels=qrels is None)
        judgments = qrels or fetched.qrels
        assert judgments is not None, "fetched where not given"
        yield fetched.name, fetched.run, Inputs(judgments, left_out=fetched.left_out)
