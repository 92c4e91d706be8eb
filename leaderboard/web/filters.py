"""Jinja filters and what every template may use."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from flask import Flask
from markupsafe import Markup, escape

from leaderboard import __version__
from leaderboard.tables.record import Column, Place
from leaderboard.tables.words import counted, day_and_time, lasting
from leaderboard.web.charts.scales import signed

HTMX = "htmx-2.0.11.min.js"
DIGITS = 4
"""Decimals of a number of which nothing else is said."""

CellMacro = Callable[[Any, Column[Any]], str]


def register(app: Flask) -> None:
    """Give the application's templates their filters."""
    app.jinja_env.filters.update(
        utc=utc,
        date=date,
        score=score,
        cell=cell,
        counted=counted,
        thousands=thousands,
        size=size,
        duration=duration,
        lasting=lasting,
        share=share,
        without=without,
        signed=signed,
    )
    app.jinja_env.globals.update(
        htmx=HTMX, version=__version__, on_page=Place.PAGE, counted=counted, cells_of=cells_of
    )


def utc(moment: datetime | None) -> Markup:
    """A moment in UTC to the minute, as a <time> element; a dash for none."""
    if moment is None:
        return Markup("–")
    return _time(moment, f"{moment.astimezone(UTC):%Y-%m-%d %H:%M}")


def date(moment: datetime | None) -> Markup:
    """A moment that people chose, as `utc`, with its seconds where it has any."""
    return Markup("–") if moment is None else _time(moment, day_and_time(moment.astimezone(UTC)))


def _time(moment: datetime, text: str) -> Markup:
    at = moment.astimezone(UTC).isoformat(timespec="seconds")
    # Digits and signs alone: nothing to escape.
    return Markup(f'<time datetime="{at}">{text}</time>')


def score(value: float | None, digits: int = DIGITS) -> str:
    """A score with its measure's digits; a dash for none.

    >>> score(0.25), score(12.0, 0), score(None)
    ('0.2500', '12', '–')
    """
    return "–" if value is None else f"{value:.{digits}f}"


def cell(value: Any, digits: int | None = None) -> str:
    """A plain value of a table: numbers with their decimals, whole ones with separators; a dash for none.

    >>> cell(0.25, 4), cell(1234, 0), cell(None), cell(True), cell("")
    ('0.2500', '1,234', '–', 'yes', '–')
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return thousands(value)
    if isinstance(value, float):
        return score(value, DIGITS if digits is None else digits)
    return "–" if value is None or value == "" else str(value)


def thousands(value: int | None) -> str:
    """A whole number with separators; a dash for none."""
    return "–" if value is None else f"{value:,}"


def size(value: int) -> Markup:
    """A number of bytes in the unit that suits it, the exact number on pointing."""
    shown, unit = float(value), "bytes"
    for bigger in ("KB", "MB", "GB"):
        if shown < 1024:
            break
        shown, unit = shown / 1024, bigger
    text = f"{value} bytes" if unit == "bytes" else f"{shown:.1f} {unit}"
    return Markup('<span title="{} bytes">{}</span>').format(f"{value:,}", escape(text))


def duration(seconds: float) -> str:
    """About how long something takes, in the unit that suits it.

    >>> duration(0.4), duration(12.3), duration(200)
    ('a second', '12 seconds', '3 minutes')
    """
    if seconds < 1.5:
        return "a second"
    return f"{seconds:.0f} seconds" if seconds < 90 else f"{seconds / 60:.0f} minutes"


def share(value: float) -> str:
    """A share of 0 to 1 in percent; what is not quite nothing or all is not rounded to it.

    >>> share(0.25), share(0.001), share(0.0), share(0.999)
    ('25%', '<1%', '0%', '>99%')
    """
    shown = f"{100 * value:.0f}%"
    return {"0%": "<1%", "100%": ">99%"}.get(shown, shown) if 0 < value < 1 else shown


def without(args: dict[str, str], *names: str) -> dict[str, str]:
    """The arguments of an address less some of them.

    >>> without({"measure": "AP", "run": "3"}, "run")
    {'measure': 'AP'}
    """
    return {key: value for key, value in args.items() if key not in names}


def cells_of(
    columns: Sequence[Column[Any]], cells: Mapping[str, CellMacro], classes: Mapping[str, str], named: str
) -> Callable[[Any], Markup]:
    """A function from a row to its cells, as `data_table` explains them.

    Not a macro: a table of 150 runs has some thousand cells, and a macro for each takes longer than all else.
    """
    writers = []
    for at, column in enumerate(columns):
        names_row = column.key == named if named else at == 0
        tag = 'th scope="row"' if names_row else "td"
        kind = ("number " if column.is_number else "") + classes.get(column.written_as, "")
        begin = f'<{tag} class="{escape(kind)}">' if kind else f"<{tag}>"
        writers.append((begin, cells.get(column.written_as), column, f"</{tag[:2]}>"))

    def write(row: Any) -> Markup:
        parts: list[str] = []
        for begin, macro, column, end in writers:
            inner = macro(row, column) if macro is not None else plain(column, row)
            parts += (begin, str.strip(escape(inner)), end)
        return Markup("".join(parts))

    return write


def plain(column: Column[Any], row: Any) -> str:
    """A row's cell where no template writes it: its words or its value, a dash for none.

    >>> plain(Column(key="n", value=len, digits=0), "abc"), plain(Column(key="n", value=len, words=str), "")
    ('3', '–')
    """
    return column.words(row) or "–" if column.words else cell(column.value(row), column.digits)
