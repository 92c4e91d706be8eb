"""`leaderboard pool`: which documents to judge, from run files or for a task of a site."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from leaderboard.cli.files.kinds import DIALECT, MAPPING, tell_notes
from leaderboard.cli.site import FILE, data_option, opened
from leaderboard.cli.usual import UsualCommand
from leaderboard.errors import Invalid
from leaderboard.tables.words import counted

FORMAT = click.option(
    "--format", "form", type=click.Choice(["nist", "csv", "jsonl"]), default="nist", show_default=True
)


@click.group(cls=UsualCommand)
def pool() -> None:
    """Which documents to judge.

    `leaderboard pool RUN... --method M` pools run files without a site; the other commands make, list and
    export pools of a task. A file that is called like a command is written ./list.
    """


def _spec_options(command: Any) -> Any:
    """The options that say how documents are chosen."""
    for option in reversed(
        (
            click.option(
                "--method",
                "name",
                default="staged",
                show_default=True,
                help="depth, rrf, hedge, ..., of answers citations or references; an unknown one lists all.",
            ),
            click.option("--then", "then", help="Of a staged pool: the method after the first stage [rrf]."),
            click.option(
                "--depth", type=click.IntRange(min=1), help="Top ranks of each run that are looked at."
            ),
            click.option("--budget", type=click.IntRange(min=1), help="Most documents of a topic."),
            click.option(
                "--set", "values", metavar="NAME=VALUE", multiple=True, help="Another parameter; repeatable."
            ),
            click.option("--seed", default=1, show_default=True, help="Of methods that draw at random."),
        )
    ):
        command = option(command)
    return command


@pool.command()
@click.argument("runs", metavar="RUN...", type=FILE, nargs=-1, required=True)
@_spec_options
@click.option("--qrels", type=FILE, help="Judgments there are: their documents are left out.")
@click.option(
    "--leave-out",
    type=FILE,
    multiple=True,
    metavar="FILE",
    help="Documents taken out of the rankings first, as of `leaderboard evaluate`; repeatable.",
)
@click.option("--level", default=1, show_default=True, help="Lowest relevant grade, for methods that learn.")
@DIALECT
@MAPPING
@click.option("--seconds", type=click.IntRange(min=1), default=30, show_default=True, help="For a document.")
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
    """Pool run files: print the documents of each topic that are to be judged.

    What it is asked for without the name of a command.
    """
    from leaderboard.cli.files.file_pools import Options, pool_files
    from leaderboard.trec.pools import as_text
    from leaderboard.trec.read.forms import asked

    spec = _spec(name, then, depth, budget, values)
    found = pool_files(runs, Options(spec, qrels, seed, int(dialect), level, leave_out, asked(mapping)))
    tell_notes(found.notes)
    for piece in as_text(found.documents, form):
        click.echo(piece.encode("utf-8", "surrogateescape"), nl=False)
    hours = found.to_judge * seconds / 3600
    told = (
        f"{found.title}: {_documents(found.to_judge, len(found.documents))} to judge, {hours:.1f} hours at "
        f"{seconds} s each; {found.judged:,} are judged already. {counted(found.places, 'place')} in "
        f"{counted(found.runs, 'run')} hold {counted(found.candidates, 'document')}."
    )
    click.echo(told, err=True)


def _opening_options(command: Callable[..., None]) -> Callable[..., None]:
    """What opening a pool may need to be told."""
    grade = click.option(
        "--highest-grade",
        type=click.IntRange(1, 9),
        help="With --open: highest grade that assessors may give.",
    )
    texts = click.option(
        "--without-texts", is_flag=True, help="With --open: assessors read the documents elsewhere."
    )
    return grade(texts(command))


@pool.command()
@click.argument("slug")
@_spec_options
@click.option("--runs", type=click.Choice(["official", "all"]), default="official", show_default=True)
@click.option("--primary-first", is_flag=True, help="Teams' primary runs before the others.")
@click.option("--cap", type=click.IntRange(min=1), help="Most runs of a team.")
@click.option("--anew", is_flag=True, help="Judge anew what is judged already.")
@click.option("--seconds", type=click.IntRange(min=1), default=30, show_default=True, help="For a document.")
@click.option("--note", default="", help="What the pool is for.")
@click.option("--open", "opening", is_flag=True, help="Open it to assessors at once.")
@_opening_options
@click.option("--preview", is_flag=True, help="Only say what it would be.")
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
    """Make a pool of a task's runs, as a draft unless it is opened."""
    from leaderboard.services.policy import OPERATOR
    from leaderboard.services.pools import pools, previews
    from leaderboard.services.pools.previews import Plan

    plan = Plan(
        spec=_spec(name, then, depth, budget, values),
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
            made = previews.preview(session, OPERATOR, slug, plan)
        click.echo(
            f"{made.method.title}: {_documents(made.documents, len(made.topics))}, {made.reused:,} judged "
            f"already, {made.to_judge:,} to judge, {made.hours:.1f} hours."
        )
        if preview:
            return
        with database.write() as session:
            number = pools.add(session, OPERATOR, made, note)
            if opening:
                pools.change(session, OPERATOR, slug, number, pools.OPEN, **opened_with)
    click.echo(f"Pool {number} of {slug} is {'open to assessors' if opening else 'a draft'}.")


@pool.command()
@click.argument("slug")
@click.option("--share", type=click.FloatRange(0.05, 1), help="Of the documents of every topic [0.2].")
@click.option("--topics", type=click.IntRange(min=10), help="Instead: this many topics, judged to the end.")
@click.option("--seed", default=1, show_default=True, help="The same seed keeps what was drawn before.")
@click.option("--seconds", type=click.IntRange(min=1), default=30, show_default=True, help="For a document.")
@click.option("--note", default="", help="What the sample is for.")
@click.option("--open", "opening", is_flag=True, help="Open it to assessors at once.")
@_opening_options
@click.option("--show", "shown", is_flag=True, help="Show the combined board to everybody.")
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
    """Draw what people judge of a machine's judgments: documents of every topic, or whole topics.

    `leaderboard board SLUG --combined` is the board that both make together.
    """
    from leaderboard.services import combined
    from leaderboard.services.policy import OPERATOR
    from leaderboard.services.pools import pools

    if share is not None and topics is not None:
        raise Invalid("Give --share or --topics, not both.")
    opened_with: dict[str, Any] = {"highest_grade": highest_grade, "without_texts": without_texts}
    with opened(data) as (database, _), database.write() as session:
        wanted = 0.2 if share is None else share
        number = combined.draw(session, OPERATOR, slug, wanted, topics, seed=seed, seconds=seconds, note=note)
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
    from leaderboard.pages.pools import pools
    from leaderboard.services.policy import OPERATOR

    with opened(data) as (database, _), database.read() as session:
        found = pools.index(session, OPERATOR, slug)
    if not found.pools:
        click.echo(f"{found.task} has no pool.")
    for row in found.pools:
        click.echo(f"{row.number}  {row.state:6}  {row.judged:,} of {row.documents:,} judged  {row.method}")


@pool.command()
@click.argument("slug")
@click.argument("number", type=int)
@FORMAT
@data_option
def export(slug: str, number: int, form: str, data: Path | None) -> None:
    """Print a pool's documents."""
    from leaderboard.services.policy import OPERATOR
    from leaderboard.services.pools.pools import exported

    with opened(data) as (database, _), database.read() as session:
        for piece in exported(session, OPERATOR, slug, number, form):
            click.echo(piece.encode("utf-8", "surrogateescape"), nl=False)


@pool.command("import")
@click.argument("slug")
@click.argument("file", type=FILE)
@click.option("--seconds", type=click.IntRange(min=1), default=30, show_default=True, help="For a document.")
@click.option("--note", default="", help="What the pool is for.")
@data_option
def bring_in(slug: str, file: Path, seconds: int, note: str, data: Path | None) -> None:
    """Make a pool of a file: NIST's form, CSV or JSON lines."""
    from leaderboard.services.policy import OPERATOR
    from leaderboard.services.pools import pools as pools_pools

    found = pools_pools.read_pool_file(file)
    with opened(data) as (database, _), database.write() as session:
        number = pools_pools.bring_in(session, OPERATOR, slug, found, file.name, note=note, seconds=seconds)
    documents = sum(map(len, found.values()))
    click.echo(f"Pool {number} of {slug} is a draft: {_documents(documents, len(found))}.")


def _spec(
    name: str, then: str | None, depth: int | None, budget: int | None, values: tuple[str, ...]
) -> dict[str, Any]:
    """The spec of a method; parameters left out are at their defaults."""
    spec: dict[str, Any] = {"name": name}
    if name == "staged":
        spec["then"] = {"name": then or "rrf"}
    elif then is not None:
        raise Invalid("Only a staged pool has a second stage: use --method staged with --then.")
    if depth is not None:
        spec["depth"] = depth
    if budget is not None:
        spec["budget"] = budget
    for assignment in values:
        key, equals, value = assignment.partition("=")
        if not equals:
            raise Invalid(f"A parameter is written NAME=VALUE, not {assignment!r}.")
        spec[key] = json.loads(value) if value.startswith("[") else value
    return spec


def _documents(documents: int, topics: int) -> str:
    return f"{counted(documents, 'document')} of {counted(topics, 'topic')}"
