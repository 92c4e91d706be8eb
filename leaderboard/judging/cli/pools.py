"""`leaderboard pool`: select documents to judge, from run files or for a task on a site."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from leaderboard.core.cli.kinds import DIALECT, MAPPING, tell_notes
from leaderboard.core.cli.site import FILE, UsualCommand, data_option, opened
from leaderboard.errors import Invalid
from leaderboard.tables.record import counted

FORMAT = click.option(
    "--format", "form", type=click.Choice(["nist", "csv", "jsonl"]), default="nist", show_default=True
)


@click.group(cls=UsualCommand)
def pool() -> None:
    """Select documents to judge.

    `leaderboard pool RUN... --method M` pools run files without a site. The other commands create, list and
    export pools of a task. Write ./list for a file named like a command.
    """


def _spec_options(command: Any) -> Any:
    """Add the options that select documents."""
    for option in reversed(
        (
            click.option(
                "--method",
                "name",
                default="staged",
                show_default=True,
                help="depth, rrf, hedge, ...; citations or references for answers. Unknown names list all.",
            ),
            click.option("--then", "then", help="Second-stage method of a staged pool [rrf]."),
            click.option(
                "--depth", type=click.IntRange(min=1), help="Pool depth: top ranks taken from each run."
            ),
            click.option("--budget", type=click.IntRange(min=1), help="Maximum documents per topic."),
            click.option(
                "--set",
                "values",
                metavar="NAME=VALUE",
                multiple=True,
                help="Set another parameter; repeatable.",
            ),
            click.option("--seed", default=1, show_default=True, help="Seed of methods that draw at random."),
        )
    ):
        command = option(command)
    return command


@pool.command()
@click.argument("runs", metavar="RUN...", type=FILE, nargs=-1, required=True)
@_spec_options
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

    spec = _spec(name, then, depth, budget, values)
    pool = pool_files(runs, Options(spec, qrels, seed, int(dialect), level, leave_out, asked(mapping)))
    tell_notes(pool.notes)
    for piece in as_text(pool.documents, form):
        click.echo(piece.encode("utf-8", "surrogateescape"), nl=False)
    hours = pool.to_judge * seconds / 3600
    summary = (
        f"{pool.title}: {_documents(pool.to_judge, len(pool.documents))} to judge, {hours:.1f} hours at "
        f"{seconds} s each; {pool.judged:,} already judged. {counted(pool.places, 'entry', 'entries')} in "
        f"{counted(pool.runs, 'run')} contain {counted(pool.candidates, 'distinct document')}."
    )
    click.echo(summary, err=True)


def _opening_options(command: Callable[..., None]) -> Callable[..., None]:
    """Options for opening a pool."""
    grade = click.option(
        "--highest-grade", type=click.IntRange(1, 9), help="With --open: highest grade for assessors."
    )
    texts = click.option(
        "--without-texts", is_flag=True, help="With --open: assessors read the documents elsewhere."
    )
    return grade(texts(command))


@pool.command()
@click.argument("slug")
@_spec_options
@click.option("--runs", type=click.Choice(["official", "all"]), default="official", show_default=True)
@click.option("--primary-first", is_flag=True, help="Take teams' primary runs first.")
@click.option("--cap", type=click.IntRange(min=1), help="Maximum runs per team.")
@click.option("--anew", is_flag=True, help="Judge already judged documents again.")
@click.option(
    "--seconds", type=click.IntRange(min=1), default=30, show_default=True, help="Judging time per document."
)
@click.option("--note", default="", help="Purpose of the pool.")
@click.option("--open", "opening", is_flag=True, help="Open the pool to assessors at once.")
@_opening_options
@click.option("--preview", is_flag=True, help="Preview the pool without creating it.")
@data_option
def make(
    slug: str,
    name: str,
    then: str | None,
    depth: int | None,
    budget: int | None,
    values: tuple[str, ...],
    seed: int,
    runs: str,
    primary_first: bool,
    cap: int | None,
    anew: bool,
    seconds: int,
    note: str,
    opening: bool,
    highest_grade: int | None,
    without_texts: bool,
    preview: bool,
    data: Path | None,
) -> None:
    """Create a pool from a task's runs, as a draft unless it is opened."""
    from leaderboard.core.policy import OPERATOR
    from leaderboard.judging.ops.pools import pools, previews
    from leaderboard.judging.ops.pools.previews import PoolPlan

    plan = PoolPlan(
        _spec(name, then, depth, budget, values),
        runs=runs,
        primary_first=primary_first,
        cap=cap,
        reuse=not anew,
        seed=seed,
        seconds=seconds,
    )
    opened_with: dict[str, Any] = {"highest_grade": highest_grade, "without_texts": without_texts}
    with opened(data) as (database, _):
        with database.read() as session:
            previewed = previews.preview(session, OPERATOR, slug, plan)
        click.echo(
            f"{previewed.method.title}: {_documents(previewed.documents, len(previewed.topics))}, "
            f"{previewed.reused:,} already judged, {previewed.to_judge:,} to judge, "
            f"{previewed.hours:.1f} hours."
        )
        if preview:
            return
        with database.write() as session:
            number = pools.add(session, OPERATOR, previewed, note)
            if opening:
                pools.change(session, OPERATOR, slug, number, pools.OPEN, **opened_with)
    click.echo(f"Pool {number} of {slug} is {'open to assessors' if opening else 'a draft'}.")


@pool.command()
@click.argument("slug")
@click.option("--share", type=click.FloatRange(0.05, 1), help="Share of the documents of every topic [0.2].")
@click.option(
    "--topics", type=click.IntRange(min=10), help="Instead of a share: number of topics to judge completely."
)
@click.option(
    "--seed", default=1, show_default=True, help="Random seed; the same seed keeps documents drawn before."
)
@click.option(
    "--seconds", type=click.IntRange(min=1), default=30, show_default=True, help="Judging time per document."
)
@click.option("--note", default="", help="Purpose of the sample.")
@click.option("--open", "opening", is_flag=True, help="Open the pool to assessors at once.")
@_opening_options
@click.option("--show", "shown", is_flag=True, help="Show the combined board to everyone.")
@data_option
def sample(
    slug: str,
    share: float | None,
    topics: int | None,
    seed: int,
    seconds: int,
    note: str,
    opening: bool,
    highest_grade: int | None,
    without_texts: bool,
    shown: bool,
    data: Path | None,
) -> None:
    """Draw a sample of a machine's judgments for people: documents of every topic, or complete topics.

    `leaderboard board SLUG --combined` prints the board based on both.
    """
    from leaderboard.core.policy import OPERATOR
    from leaderboard.judging.ops import combined
    from leaderboard.judging.ops.pools import pools

    if share is not None and topics is not None:
        raise Invalid("Give --share or --topics, not both.")
    opened_with: dict[str, Any] = {"highest_grade": highest_grade, "without_texts": without_texts}
    with opened(data) as (database, _), database.write() as session:
        drawn_share = 0.2 if share is None else share
        number = combined.draw(
            session, OPERATOR, slug, drawn_share, topics, seed=seed, seconds=seconds, note=note
        )
        if opening:
            pools.change(session, OPERATOR, slug, number, pools.OPEN, **opened_with)
        if shown:
            combined.show_sample(session, OPERATOR, slug, number, True)
    click.echo(f"Pool {number} of {slug} is {'open to assessors' if opening else 'a draft'}.")


@pool.command("list")
@click.argument("slug")
@data_option
def show(slug: str, data: Path | None) -> None:
    """List a task's pools."""
    from leaderboard.core.policy import OPERATOR
    from leaderboard.judging.page.pools import pools

    with opened(data) as (database, _), database.read() as session:
        page = pools.index(session, OPERATOR, slug)
    if not page.pools:
        click.echo(f"{page.task} has no pools.")
    for row in page.pools:
        click.echo(f"{row.number}  {row.state:6}  {row.judged:,} of {row.documents:,} judged  {row.method}")


@pool.command()
@click.argument("slug")
@click.argument("number", type=int)
@FORMAT
@data_option
def export(slug: str, number: int, form: str, data: Path | None) -> None:
    """Print a pool's documents."""
    from leaderboard.core.policy import OPERATOR
    from leaderboard.judging.ops.pools.pools import exported

    with opened(data) as (database, _), database.read() as session:
        for piece in exported(session, OPERATOR, slug, number, form):
            click.echo(piece.encode("utf-8", "surrogateescape"), nl=False)


@pool.command("import")
@click.argument("slug")
@click.argument("file", type=FILE)
@click.option(
    "--seconds", type=click.IntRange(min=1), default=30, show_default=True, help="Judging time per document."
)
@click.option("--note", default="", help="Purpose of the pool.")
@data_option
def bring_in(slug: str, file: Path, seconds: int, note: str, data: Path | None) -> None:
    """Import a pool from a file: NIST format, CSV or JSON lines."""
    from leaderboard.core.policy import OPERATOR
    from leaderboard.judging.ops.pools import pools as pools_pools

    pool = pools_pools.read_pool_file(file)
    with opened(data) as (database, _), database.write() as session:
        number = pools_pools.bring_in(session, OPERATOR, slug, pool, file.name, note=note, seconds=seconds)
    documents = sum(map(len, pool.values()))
    click.echo(f"Pool {number} of {slug} is a draft: {_documents(documents, len(pool))}.")


def _spec(
    name: str, then: str | None, depth: int | None, budget: int | None, values: tuple[str, ...]
) -> dict[str, Any]:
    """The spec of a method; omitted parameters take their defaults."""
    spec: dict[str, Any] = {"name": name}
    if name == "staged":
        spec["then"] = {"name": then or "rrf"}
    elif then is not None:
        raise Invalid("Only a staged pool has a second stage. Use --method staged with --then.")
    if depth is not None:
        spec["depth"] = depth
    if budget is not None:
        spec["budget"] = budget
    for assignment in values:
        key, equals, value = assignment.partition("=")
        if not equals:
            raise Invalid(f"Write a parameter as NAME=VALUE, not {assignment!r}.")
        spec[key] = json.loads(value) if value.startswith("[") else value
    return spec


def _documents(documents: int, topics: int) -> str:
    return f"{counted(documents, 'document')} of {counted(topics, 'topic')}"
