"""A page's figure as a file of its own: the drawing with the sheet's rules for it and nothing else.

The drawing is taken out of the page that this viewer gets, so that what may be seen is decided there alone.
Programs that open such files know less than browsers: colours are written out plainly.
"""

import re
from functools import cache
from pathlib import Path
from urllib.parse import quote, urlencode
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from flask import Flask, has_request_context, request
from flask.globals import request_ctx

from leaderboard.errors import NotFound
from leaderboard.web.charts import heat_bounds, heat_difference_bounds

PARAMETER = "figure"
SHEET = Path(__file__).parent / "static" / "charts.css"
WIDTH = 960
"""Width of a drawing as a file; on a page it takes the width it is given."""
PAGE_ONLY = frozenset(("hit", "narrow"))
"""Classes of what is there to be pointed at, or for narrow screens."""

SVG = "http://www.w3.org/2000/svg"
_NOT_IN_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")


def register(app: Flask) -> None:
    """Give the application's templates what figures need."""
    app.jinja_env.globals.update(
        figure_address=address,
        figure_data=data_address,
        heat_bounds=heat_bounds,
        heat_difference_bounds=heat_difference_bounds,
    )


def address(figure_id: str) -> str:
    """Address of this page's figure, in the page's state, as a file."""
    if not has_request_context():
        return f"?{PARAMETER}={figure_id}"
    return f"{_path()}?{urlencode([*_state(), (PARAMETER, figure_id)])}"


def data_address() -> str:
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
