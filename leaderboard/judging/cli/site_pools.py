"""`leaderboard pool` for a task on a site: make, sample, list, export and import pools."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from leaderboard import fields
from leaderboard.core.actions import Outcome
from leaderboard.core.cli import actions
from leaderboard.core.cli.actions import Acting, acting, chosen, options
from leaderboard.core.cli.site import data_option, opened
from leaderboard.core.policy import OPERATOR
from leaderboard.errors import Invalid
from leaderboard.judging.cli.specs import FORMAT, documents_of, spec_of, spec_options
from leaderboard.judging.ops import combined
from leaderboard.judging.ops.combined import SamplePlan
from leaderboard.judging.ops.pools import pools, previews
from leaderboard.judging.ops.pools.pools import PoolState
from leaderboard.judging.ops.pools.previews import PoolPlan
from leaderboard.judging.page.pools import pools as pages

OPEN = click.option("--open", "opening", is_flag=True, help="Open the pool to assessors at once.")


@click.command()
@click.argument("slug")
@spec_options
@options(PoolPlan, without=("seed",))
@OPEN
@options(PoolState, without=("state",))
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
    opening: bool,
    preview: bool,
    data: Path | None,
    **given: Any,
) -> None:
    """Create a pool from a task's runs, as a draft unless it is opened."""
    spec = spec_of(name, then, depth, budget, values)
    asked = {"method": spec, "seed": seed, **chosen(PoolPlan, given)}
    with acting(data) as do:
        if preview:
            with do.reading() as session:
                previewed = previews.preview(session, OPERATOR, slug, fields.read(PoolPlan, asked))
        else:
            number, previewed = do(pools.MAKE, asked, slug=slug).result
            done = _opened(do, slug, number, given) if opening else "a draft"
    click.echo(
        f"{previewed.method.title}: {documents_of(previewed.documents, len(previewed.topics))}, "
        f"{previewed.reused:,} already judged, {previewed.to_judge:,} to judge, "
        f"{previewed.hours:.1f} hours."
    )
    if not preview:
        click.echo(f"Pool {number} of {slug} is {done}.")


@click.command()
@click.argument("slug")
@options(SamplePlan)
@OPEN
@options(PoolState, without=("state",))
@click.option("--show", "shown", is_flag=True, help="Show the combined board to everyone.")
@data_option
def sample(slug: str, opening: bool, shown: bool, data: Path | None, **given: Any) -> None:
    """Draw a sample of a machine's judgments for people: documents of every topic, or complete topics.

    `leaderboard board SLUG --combined` prints the board based on both.
    """
    asked = chosen(SamplePlan, given)
    if {"share", "topics"} <= asked.keys():
        raise Invalid("Give --share or --topics, not both.")
    with acting(data) as do:
        number = do(combined.DRAW, asked, slug=slug).result
        done = _opened(do, slug, number, given) if opening else "a draft"
        if shown:
            do(combined.SHOW, {"shown": True}, slug=slug, number=number)
    click.echo(f"Pool {number} of {slug} is {done}.")


def _opened(do: Acting, slug: str, number: int, given: Mapping[str, Any]) -> str:
    do(pools.CHANGE, {**chosen(PoolState, given), "state": pools.OPEN}, slug=slug, number=number)
    return "open to assessors"


@click.command("list")
@click.argument("slug")
@data_option
def show(slug: str, data: Path | None) -> None:
    """List a task's pools."""
    with opened(data) as (database, _), database.read() as session:
        page = pages.index(session, OPERATOR, slug)
    if not page.pools:
        click.echo(f"{page.task} has no pools.")
    for row in page.pools:
        click.echo(f"{row.number}  {row.state:6}  {row.judged:,} of {row.documents:,} judged  {row.method}")


@click.command()
@click.argument("slug")
@click.argument("number", type=int)
@FORMAT
@data_option
def export(slug: str, number: int, form: str, data: Path | None) -> None:
    """Print a pool's documents."""
    with opened(data) as (database, _), database.read() as session:
        for piece in pools.exported(session, OPERATOR, slug, number, form):
            click.echo(piece.encode("utf-8", "surrogateescape"), nl=False)


def _imported(outcome: Outcome, slug: str) -> str:
    number, pool = outcome.result
    documents = sum(map(len, pool.values()))
    return f"Pool {number} of {slug} is a draft: {documents_of(documents, len(pool))}."


COMMANDS = (make, sample, show, export, actions.command(pools.IMPORT, say=_imported))
