"""How commands say what selects the documents of a pool."""

import json
from typing import Any

import click

from leaderboard.errors import Invalid
from leaderboard.tables.record import counted

FORMAT = click.option(
    "--format", "form", type=click.Choice(["nist", "csv", "jsonl"]), default="nist", show_default=True
)


def spec_options(command: Any) -> Any:
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


def spec_of(
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


def documents_of(documents: int, topics: int) -> str:
    """How many there are, as text."""
    return f"{counted(documents, 'document')} of {counted(topics, 'topic')}"
