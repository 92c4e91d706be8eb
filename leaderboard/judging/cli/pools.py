"""`leaderboard pool`: select documents to judge, from run files or for a task on a site.

Files are pooled without loading what a site needs; its commands are imported when one of them is named.
"""

from pathlib import Path

import click

from leaderboard.core.cli.kinds import DIALECT, MAPPING, tell_notes
from leaderboard.core.cli.site import FILE, UsualCommand
from leaderboard.judging.cli.specs import FORMAT, documents_of, spec_of, spec_options
from leaderboard.tables.record import counted

SITE = ("make", "sample", "list", "export", "import")
"""The commands for a task."""


class _Pool(UsualCommand):
    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0] in SITE:
            self.list_commands(ctx)
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        from leaderboard.judging.cli.site_pools import COMMANDS

        for command in COMMANDS:
            self.add_command(command)
        return super().list_commands(ctx)


@click.group(cls=_Pool)
def pool() -> None:
    """Select documents to judge.

    `leaderboard pool RUN... --method M` pools run files without a site. The other commands create, list and
    export pools of a task. Write ./list for a file named like a command.
    """


@pool.command()
@click.argument("runs", metavar="RUN...", type=FILE, nargs=-1, required=True)
@spec_options
@click.option("--qrels", type=FILE, help="Existing judgments; their documents are left out.")
@click.option(
    "--leave-out",
    type=FILE,
    multiple=True,
    metavar="FILE",
    help="Documents to remove from the rankings first, as in `leaderboard evaluate`; repeatable.",
)
@click.option("--level", default=1, show_default=True, help="Lowest relevant grade, for adaptive methods.")
@DIALECT
@MAPPING
@click.option(
    "--seconds", type=click.IntRange(min=1), default=30, show_default=True, help="Judging time per document."
)
@FORMAT
def files(
    runs: tuple[Path, ...],
    name: str,
    then: str | None,
    depth: int | None,
    budget: int | None,
    values: tuple[str, ...],
    seed: int,
    qrels: Path | None,
    leave_out: tuple[Path, ...],
    level: int,
    dialect: str,
    mapping: tuple[str, ...],
    seconds: int,
    form: str,
) -> None:
    """Pool run files: print the documents of each topic to judge.

    Runs when no command name is given.
    """
    from leaderboard.judging.cli.file_pools import Options, pool_files
    from leaderboard.trec.pools import as_text
    from leaderboard.trec.read.forms import asked

    spec = spec_of(name, then, depth, budget, values)
    pool = pool_files(runs, Options(spec, qrels, seed, int(dialect), level, leave_out, asked(mapping)))
    tell_notes(pool.notes)
    for piece in as_text(pool.documents, form):
        click.echo(piece.encode("utf-8", "surrogateescape"), nl=False)
    hours = pool.to_judge * seconds / 3600
    summary = (
        f"{pool.title}: {documents_of(pool.to_judge, len(pool.documents))} to judge, {hours:.1f} hours at "
        f"{seconds} s each; {pool.judged:,} already judged. {counted(pool.places, 'entry', 'entries')} in "
        f"{counted(pool.runs, 'run')} contain {counted(pool.candidates, 'distinct document')}."
    )
    click.echo(summary, err=True)
