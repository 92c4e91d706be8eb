"""Shared parts of subcommands: the client of a site and printing of responses."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import click

from leaderboard_submit import logins
from leaderboard_submit.client import Client

JSON, TABLE, CSV = "json", "table", "csv"
file_argument = click.Path(exists=True, dir_okay=False, path_type=Path)


def client_of(ctx: click.Context, kind: str = "personal") -> Client:
    """The client of the site that a verb was given, with the token of that kind that is kept for it."""
    url = logins.site(ctx.obj)
    return Client(url, logins.token(url, kind))


def write_pieces(output: BinaryIO, pieces: Iterable[bytes]) -> None:
    """Write a file piece by piece."""
    for piece in pieces:
        output.write(piece)


def say_json(answer: Any) -> None:
    """Print an answer as JSON."""
    click.echo(json.dumps(answer, indent=1, ensure_ascii=False))


def say_csv(columns: Sequence[str], rows: Sequence[dict[str, Any]]) -> None:
    """Print rows as CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_plain(row.get(column)) for column in columns] for row in rows)
    click.echo(text.getvalue(), nl=False)


def _plain(value: Any) -> Any:
    """A cell that no spreadsheet runs as a formula."""
    return f"'{value}" if isinstance(value, str) and value[:1] in "=+-@\t\r" and value else value


def say_table(columns: Sequence[str], rows: Sequence[dict[str, Any]]) -> None:
    """Print rows for people, in columns."""
    cells = [[_cell(row.get(column)) for column in columns] for row in rows]
    widths = [max(map(len, column)) for column in zip(columns, *cells)]
    for line in (columns, *cells):
        click.echo("  ".join(text.ljust(width) for text, width in zip(line, widths)).rstrip())


def _cell(value: Any) -> str:
    return "" if value is None else f"{value:.4f}" if isinstance(value, float) else str(value)
