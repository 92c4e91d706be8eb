"""A page's figure as a file of its own: the drawing with the sheet's rules for it and nothing else.

The drawing is taken out of the page that this viewer gets, so that what may be seen is decided there alone.
Programs that open such files know less than browsers: colours and selectors are written out plainly.
"""

import re
from functools import cache
from itertools import product
from pathlib import Path
from urllib.parse import quote, urlencode

from flask import Flask, has_request_context, request

from leaderboard.errors import NotFound
from leaderboard.web.charts import heat_bounds, heat_difference_bounds

PARAMETER = "figure"
SHEET = Path(__file__).parent / "static" / "app.css"
WIDTH = 960.0
"""How wide a drawing is in its file that takes the width it is given on a page."""
LAYOUT = frozenset(("display", "width", "height", "max-width", "overflow", "cursor"))
"""Properties that place a drawing on its page."""

_TAGS = re.compile(r"<svg\b[^>]*>|</svg>")
_ATTRIBUTE = re.compile(r"([\w-]+)=\"([^\"]*)\"")
_DROPPED = re.compile(r"</?a\b[^>]*>|<rect class=\"hit\"[^>]*></rect>|<tspan class=\"narrow\">[^<]*</tspan>")
_NOT_IN_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_LAYER = r"@layer {} \{{\n(.*?)\n\}}\n"
_CONDITIONAL = re.compile(r"@\w+[^{}]*\{(?:[^{}]*\{[^{}]*\})*\s*\}")
_RULE = re.compile(r"([^{}]+)\{([^{}]*)\}")
_TOKEN = re.compile(r"(--[\w-]+):\s*([^;]+);")
_VARIABLE = re.compile(r"var\((--[\w-]+)\)")
_SCHEMES = re.compile(r"light-dark\(([^,()]+),[^()]*\)")
_EITHER = re.compile(r":is\(([^()]*)\)")
_COMMA = re.compile(r",(?![^(]*\))")


def register(app: Flask) -> None:
    """Give the application's templates what figures need."""
    app.jinja_env.globals.update(
        figure_address=address, heat_bounds=heat_bounds, heat_difference_bounds=heat_difference_bounds
    )


def address(figure_id: str) -> str:
    """Where the figure of this page, in the state it is in, is a file."""
    if not has_request_context():
        return f"?{PARAMETER}={figure_id}"
    state = [(name, value) for name, value in request.args.items(multi=True) if name != PARAMETER]
    path = quote(request.script_root + request.path, safe="/:@!$&'()*+,;=~")
    return f"{path}?{urlencode([*state, (PARAMETER, figure_id)])}"


def drawing(html: str, figure_id: str) -> str:
    """The drawing of a page's figure as an SVG document, in the light scheme on white.

    Raises NotFound where the page has no such figure.
    """
    found = _cut(html, figure_id)
    if found is None:
        raise NotFound("This page has no figure of that name, or none in this state; open the page to see.")
    head, body = found
    named = dict(_ATTRIBUTE.findall(head))
    if "viewBox" in named:
        width, height = (float(part) for part in named["viewBox"].split()[2:])
    else:
        width, height = WIDTH, float(named["height"])
    body = re.sub(r"\n\s*", "\n", _NOT_IN_XML.sub("", _DROPPED.sub("", body)))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="chart" width="{width:g}" height="{height:g}" '
        f'viewBox="0 0 {width:g} {height:g}" role="img" aria-labelledby="{named["aria-labelledby"]}">\n'
        f"<style>{style()}</style>\n"
        f'<rect width="{width:g}" height="{height:g}" fill="#fff"></rect>{body}</svg>\n'
    )


def _cut(html: str, figure_id: str) -> tuple[str, str] | None:
    """The opening tag of a figure's drawing and what is inside; text in a page holds no tags of its own."""
    start = html.find(f'<figure id="{figure_id}">') if re.fullmatch(r"[\w-]+", figure_id) else -1
    if start < 0:
        return None
    depth, opening = 0, None
    for tag in _TAGS.finditer(html, start, html.index("</figure>", start)):
        depth += -1 if tag[0] == "</svg>" else 1
        opening = opening or tag
        if depth == 0:
            return opening[0], html[opening.end() : tag.start()]
    return None


@cache
def style() -> str:
    """The sheet's rules of drawings without layers, variables, schemes and conditions."""
    sheet = _COMMENT.sub("", SHEET.read_text(encoding="utf-8"))
    tokens = dict(_TOKEN.findall(_layer(sheet, "tokens")))
    rules = []
    for selectors, declarations in _RULE.findall(_CONDITIONAL.sub("", _layer(sheet, "charts"))):
        kept = [selector for one in _COMMA.split(selectors) for selector in _plain(one.strip())]
        said = [
            declaration
            for declaration in (_resolved(each.strip(), tokens) for each in declarations.split(";"))
            if declaration and declaration.partition(":")[0] not in LAYOUT
        ]
        if kept and said:
            rules.append(f"{','.join(kept)}{{{';'.join(said)}}}")
    return "\n".join(rules)


def _layer(sheet: str, name: str) -> str:
    found = re.search(_LAYER.format(name), sheet, re.DOTALL)
    if found is None:
        raise RuntimeError(f"the style sheet has no layer {name}")
    return found[1]


def _plain(selector: str) -> list[str]:
    """A selector of drawings without alternatives inside; none for what a file has not.

    >>> _plain(".chart :is(.up, .down) .name"), _plain(".chart .item:hover .hit"), _plain("figure")
    (['.chart .up .name', '.chart .down .name'], [], [])
    """
    if not selector.startswith(".chart") or re.search(r":hover|\[| a\b", selector):
        return []
    parts = _EITHER.split(selector)
    choices = [re.split(r",\s*", part) if place % 2 else [part] for place, part in enumerate(parts)]
    return ["".join(way) for way in product(*choices)]


def _resolved(declaration: str, tokens: dict[str, str]) -> str:
    """A declaration with the light scheme's values for variables."""
    while _VARIABLE.search(declaration):
        declaration = _VARIABLE.sub(lambda found: tokens[found[1]], declaration)
    return _SCHEMES.sub(r"\1", declaration)
