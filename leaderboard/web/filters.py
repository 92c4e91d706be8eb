"""Jinja filters and what every template may use.

A page's figure as a file of its own: the drawing with the sheet's rules for it and nothing else.

The drawing is extracted from this viewer's page, so that visibility is decided there alone.
Programs that open such files know less than browsers: colours are written out plainly.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, time
from functools import cache, lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import nh3
from flask import Flask, has_request_context, request, url_for
from flask.globals import request_ctx
from markdown_it import MarkdownIt
from markupsafe import Markup, escape
from sqlalchemy.orm import Session

from leaderboard import __version__, fields
from leaderboard.core import prose
from leaderboard.db.engine import now
from leaderboard.errors import Invalid, NotFound, Problem, UnknownMeasure
from leaderboard.measures import naming
from leaderboard.measures.answers import catalogue as of_answers
from leaderboard.measures.answers.catalogue import AnswerMeasurePage
from leaderboard.measures.catalogue import entries
from leaderboard.measures.judges import registry
from leaderboard.memory import keep
from leaderboard.tables.record import Column, Place, counted, day_and_time, lasting
from leaderboard.web.charts import heat_bounds, heat_difference_bounds
from leaderboard.web.charts.scales import signed

_PARSER = MarkdownIt("commonmark", {"html": False, "linkify": False}).enable("table").disable("image")
_TAGS = {
    *("p", "br", "hr", "h2", "h3", "h4", "h5", "h6", "em", "strong", "code", "pre", "blockquote"),
    *("ul", "ol", "li", "a", "table", "thead", "tbody", "tr", "th", "td"),
}
_ATTRIBUTES = {"a": {"href", "title"}, "ol": {"start"}}


def _absolute_links_only(tag: str, attribute: str, value: str) -> str | None:
    """Keep an address only where it names another site in full: a relative one could imitate ours."""
    return None if attribute == "href" and not value.startswith(("http://", "https://")) else value


_CLEANER = nh3.Cleaner(
    tags=_TAGS,
    attributes=_ATTRIBUTES,
    attribute_filter=_absolute_links_only,
    url_schemes={"http", "https"},
    link_rel="ugc nofollow noopener",
)


@keep
def render(text: str) -> Markup:
    """The text as safe HTML: no raw HTML, no images, links to http and https only.

    A page has one first-level heading, its own; the text's become second-level. A text from before there were
    limits that is beyond them is shown as it was written.

    >>> render("*Hi* <script>x</script> [a](javascript:x)")
    Markup('<p><em>Hi</em> &lt;script&gt;x&lt;/script&gt; [a](javascript:x)</p>\\n')
    """
    if prose.broken_rule(text):
        return Markup("<pre>{}</pre>\n").format(text)
    tokens = _PARSER.parse(text)
    for token in tokens:
        if token.type in ("heading_open", "heading_close") and token.tag == "h1":
            token.tag = "h2"
    html = _PARSER.renderer.render(tokens, _PARSER.options, {})
    return Markup(_CLEANER.clean(html))


DAY_CHARACTERS = 10


def as_of(session: Session, text: str) -> datetime:
    """The moment that a text names: of a day its end, of a time without zone that time in UTC.

    Today is a day like others: what holds until its end holds now. Raises Invalid for what is not a date, and
    for a day or a moment in the future; one statement.
    """
    begins = moment(text)
    if begins > now(session):
        raise _refused(text, "is in the future", "Enter today's date or an earlier date.")
    return datetime.combine(begins, time.max, UTC) if len(text.strip()) <= DAY_CHARACTERS else begins


def moment(text: str) -> datetime:
    """The moment at which what the text names begins; raises Invalid for an invalid date.

    >>> moment("2026-11-01").isoformat(), moment("2026-11-01 12:30").isoformat()
    ('2026-11-01T00:00:00+00:00', '2026-11-01T12:30:00+00:00')
    """
    try:
        begins = datetime.fromisoformat(text.strip())
        return begins.astimezone(UTC) if begins.tzinfo else begins.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        raise _refused(
            text, "is not a date", "Use a form like 2026-11-01 or 2026-11-01T12:30, in UTC."
        ) from None


def _refused(text: str, rule: str, remedy: str) -> Invalid:
    shown = text[:30]
    return Invalid(f"{shown!r} {rule}. {remedy}", [Problem(rule, remedy, field="at", value=shown)])


PARAMETER = "figure"
SHEET = Path(__file__).parent / "static" / "charts.css"
WIDTH = 960
"""Width of a drawing as a file; on a page it takes the width it is given."""
PAGE_ONLY = frozenset(("hit", "narrow"))
"""Classes of elements with tooltips, or for narrow screens."""

SVG = "http://www.w3.org/2000/svg"
_NOT_IN_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")


def register_figures(app: Flask) -> None:
    """Give the application's templates what figures need."""
    app.jinja_env.globals.update(
        figure_address=figure_address,
        figure_data=figure_data,
        heat_bounds=heat_bounds,
        heat_difference_bounds=heat_difference_bounds,
    )


def figure_address(figure_id: str) -> str:
    """Address of this page's figure, in the page's state, as a file."""
    if not has_request_context():
        return f"?{PARAMETER}={figure_id}"
    return f"{_path()}?{urlencode([*_state(), (PARAMETER, figure_id)])}"


def figure_data() -> str:
    """Where the numbers of this page are a file, in the state it is in; empty for a page without one."""
    adapter = request_ctx.url_adapter if has_request_context() else None
    if adapter is None or not adapter.test(f"{request.path}.json", method="GET"):
        return ""
    state = urlencode(_state())
    return f"{_path()}.json" + (f"?{state}" if state else "")


def _path() -> str:
    return quote(request.script_root + request.path, safe="/:@!$&'()*+,;=~")


def _state() -> list[tuple[str, str]]:
    return [(name, value) for name, value in request.args.items(multi=True) if name != PARAMETER]


def writable(text: str) -> str:
    """The text without what no XML can hold."""
    return _NOT_IN_XML.sub("", text)


def drawing(html: str, figure_id: str) -> str:
    """The drawing of a page's figure as an SVG document, in the light scheme on white.

    Raises NotFound where the page has no such figure.
    """
    figure = html.partition(f'<figure id="{figure_id}">')[2].partition("<figcaption")[0]
    start, end = figure.find("<svg"), figure.rfind("</svg>")
    if start < 0:
        raise NotFound("This page does not show this figure. Open the page to see its figures.")
    lines = writable(figure[start:end]).split("\n")
    svg = ElementTree.fromstring("\n".join(line.lstrip() for line in lines) + "</svg>")
    _take_off_page(svg)
    box = svg.get("viewBox") or f"0 0 {WIDTH} {svg.get('height')}"
    width, height = (f"{float(part):g}" for part in box.split()[2:])
    style = Element("style")
    style.text = rules()
    svg[:0] = [style, Element("rect", width=width, height=height, fill="#fff")]
    svg.attrib |= {
        "xmlns": SVG,
        "width": width,
        "height": height,
        "viewBox": f"0 0 {width} {height}",
        "role": "img",
    }
    return ElementTree.tostring(svg, encoding="unicode") + "\n"


def _take_off_page(svg: Element) -> None:
    """Leave out what only a page needs; links become groups."""
    for element in list(svg.iter()):
        if element.tag == "a":
            element.tag = "g"
            element.attrib.clear()
        for part in [part for part in element if part.get("class") in PAGE_ONLY]:
            element.remove(part)


@cache
def rules() -> str:
    """The rules of drawings with the light scheme's colours written out."""
    root, _, text = SHEET.read_text(encoding="utf-8").partition("}\n")
    for line in root.splitlines():
        name, _, colour = line.strip(" ;").partition(": ")
        text = text.replace(f"var({name})", colour)
    return text


HTMX = "htmx-2.0.11.min.js"
DIGITS = 4
"""Decimals of a number without its own setting."""

CellMacro = Callable[[Any, Column[Any]], str]


def register(app: Flask) -> None:
    """Give the application's templates their filters."""
    app.jinja_env.filters.update(
        typed_as=fields.as_typed,
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
        codes=codes,
        measure_address=measure_address,
    )
    app.jinja_env.globals.update(
        htmx=HTMX, version=__version__, on_page=Place.PAGE, counted=counted, cells_of=cells_of
    )


def measure_address(key: str) -> str:
    """Address of the page of a measure key such as nDCG@10, with its parameters."""
    name, written = measure_named(key)
    return url_for("measures.show", name=name, written=written or None)


@lru_cache(maxsize=1024)
def measure_named(name: str) -> tuple[str, str]:
    """As `entries.find`, also for measures of answers and of judges."""
    try:
        return entries.find(name)
    except NotFound:
        measure = named_of_others(name)
        if measure is None:
            raise
        return measure, "" if name == measure else name


def named_of_others(name: str) -> str | None:
    """The measure of answers or judges that a name means, with or without parameters; None for others."""
    if name in of_others():
        return name
    try:
        bound = naming.parse(name)
    except UnknownMeasure:
        return None
    return bound.measure.name if naming.kind_of(bound.measure) != "rankings" else None


def pages_of(kind: str) -> dict[str, AnswerMeasurePage]:
    """The measures of answers, or of judges, by name, in order."""
    return {page.name: page for page in (of_answers if kind == "answers" else registry).pages()}


def of_others() -> dict[str, AnswerMeasurePage]:
    """The measures of answers and of judges by name."""
    return {**pages_of("answers"), **pages_of("judges")}


def codes(text: str) -> Markup:
    """Text with parts between backticks as code."""
    parts = (escape(part) for part in text.split("`"))
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if place % 2 else part for place, part in enumerate(parts)
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
    return "–" if value is None else f"{value:.{digits}f}".replace("-", "−")


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
    """An approximate duration in a suitable unit.

    >>> duration(0.4), duration(12.3), duration(200)
    ('a second', '12 seconds', '3 minutes')
    """
    if seconds < 1.5:
        return "a second"
    return f"{seconds:.0f} seconds" if seconds < 90 else f"{seconds / 60:.0f} minutes"


def share(value: float) -> str:
    """A share of 0 to 1 in percent; values close to 0 or 100 % are not rounded to these.

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
