"""Metadata in the head of a page for link previews: title and description.

Preview services are visitors, so only visitors get it, and it is derived from the page shown to them.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from html import escape
from typing import Any

from flask import url_for
from markupsafe import Markup

from leaderboard.boards.page.cards import CardPage, TaskData
from leaderboard.web.http import own_origin
from leaderboard.web.session import viewer

_MARKDOWN = re.compile(r"([\\`*_{}\[\]()#+\-.!|<>&~])")


@dataclass(frozen=True, slots=True)
class Snippet:
    """Text to paste, with its markup language."""

    form: str
    text: str


def of_run(run_id: int, title: str) -> tuple[Snippet, ...]:
    """The badge of a run, linked to its page."""
    page = url_for("runs.show", run_id=run_id)
    return of_badge(title, own_origin() + url_for("badges.of_run", run_id=run_id), own_origin() + page)


def of_task(slug: str, title: str) -> tuple[Snippet, ...]:
    """The badge of a task, linked to its board."""
    page = url_for("boards.board", slug=slug)
    return of_badge(title, own_origin() + url_for("badges.of_task", slug=slug), own_origin() + page)


def of_frame(slug: str, task: str, width: int, height: int) -> Snippet:
    """The frame with a task's board."""
    address = own_origin() + url_for("frames.show", slug=slug)
    title = escape(f"Board of {_line(task)}")
    size = f'width="{width}" height="{height}"'
    return Snippet(
        "Board", f'<iframe src="{escape(address)}" title="{title}" {size} loading="lazy"></iframe>'
    )


def of_badge(title: str, badge: str, page: str) -> tuple[Snippet, ...]:
    """A badge linked to a page, with absolute URLs, in Markdown, HTML and reStructuredText."""
    return (
        Snippet("Markdown", f"[![{markdown(title)}]({badge})]({page})"),
        Snippet(
            "HTML",
            f'<a href="{escape(page)}"><img src="{escape(badge)}" alt="{escape(title)}" height="20"></a>',
        ),
        Snippet("reStructuredText", f".. image:: {badge}\n   :target: {page}\n   :alt: {_line(title)}"),
    )


def markdown(text: str) -> str:
    """The text escaped for a line of Markdown.

    >>> print(markdown("a_1 [x](y) <b>"))
    a\\_1 \\[x\\]\\(y\\) \\<b\\>
    """
    return _MARKDOWN.sub(r"\\\1", _line(text))


def _line(text: str) -> str:
    return " ".join(text.split())


_CREATIVE_COMMONS = re.compile(r"CC[ -](BY(?:-NC)?(?:-SA|-ND)?)[ -](\d\.\d)", re.IGNORECASE)
_ESCAPES = {ord(letter): f"\\u{ord(letter):04x}" for letter in "<>&\u2028\u2029"}


@dataclass(frozen=True, slots=True)
class Head:
    """The text of a head; the address is absolute."""

    title: str
    description: str
    address: str
    dataset: str = ""
    """The text of a data block; empty if the page is not a dataset."""


def for_visitors(make: Callable[[], CardPage]) -> Head | None:
    """The head of a page from a card; None for signed-in viewers, whose page may show more."""
    if viewer().account_id is not None:
        return None
    shown = make()
    return Head(shown.title, shown.description, own_origin() + _path(shown))


def _path(shown: CardPage) -> str:
    if shown.kind == "run":
        return url_for("runs.show", run_id=int(shown.address))
    if shown.kind == "snapshot":
        return url_for("snapshots.show", address=shown.address)
    return url_for("boards.board", slug=shown.slug)


def dataset_block(data: TaskData) -> Markup:
    """The task as schema.org Dataset in JSON-LD, for the head of its board.

    A data block is not a script, so the content security policy permits it. No name can end it early.
    """
    dataset = {name: value for name, value in _dataset(data).items() if value}
    # Characters that could end the block or begin a tag are written as JSON escapes.
    return Markup(json.dumps(dataset, ensure_ascii=False).translate(_ESCAPES))


def _dataset(data: TaskData) -> dict[str, Any]:
    page = own_origin() + url_for("boards.board", slug=data.slug)
    return {
        "@context": "https://schema.org/",
        "@type": "Dataset",
        "name": data.name,
        "description": data.description,
        "url": page,
        "identifier": page,
        "version": data.revision,
        "license": _licence(data.licence),
        "creator": {"@type": "Organization", "name": data.creator},
        "datePublished": _day(data.published_at),
        "dateModified": _day(data.changed_at),
        "temporalCoverage": _span(data.opens_at, data.closes_at),
        "variableMeasured": list(data.measures) if data.has_scores else [],
        "isAccessibleForFree": True,
        "distribution": _files(data),
    }


CROISSANT = "http://mlcommons.org/croissant/1.1"
_TERMS = (
    "citeAs column containedIn equivalentProperty extract field fileObject fileProperty fileSet format "
    "includes isArray isLiveDataset jsonPath key md5 parentField path recordSet references regex repeated "
    "replace samplingRate separator source subField transform"
)
CROISSANT_CONTEXT: dict[str, Any] = {
    **{"@language": "en", "@vocab": "https://schema.org/", "sc": "https://schema.org/"},
    **{"cr": "http://mlcommons.org/croissant/", "rai": "http://mlcommons.org/croissant/RAI/"},
    **{"dct": "http://purl.org/dc/terms/", "conformsTo": "dct:conformsTo"},
    **{term: {"@id": f"cr:{term}", "@type": "@json"} for term in ("data", "examples")},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    **{term: f"cr:{term}" for term in _TERMS.split()},
}
"""The usual one of the specification, which validators compare."""


def croissant(data: TaskData, cite_as: str) -> dict[str, Any]:
    """The task as Croissant 1.1 (https://docs.mlcommons.org/croissant), whose words extend schema.org's.

    cite_as: in BibTeX. Its files change with the board, so it is a live data set, whose files need no digest.
    """
    files = [
        {**file, "@type": "cr:FileObject", "@id": file["contentUrl"].rsplit("/", 1)[1]}
        for file in _files(data)
    ]
    described = {
        **_dataset(data),
        "@context": CROISSANT_CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": CROISSANT,
        "citeAs": cite_as,
        "isLiveDataset": True,
        "version": f"{data.revision}.0.0" if data.revision else "",
        "distribution": files,
    }
    return {name: value for name, value in described.items() if value}


def _files(data: TaskData) -> list[dict[str, str]]:
    files = [("Topics", "text/csv", url_for("topics.index_export", slug=data.slug, form="csv"))]
    if data.has_judgments:
        address = url_for("revisions.part", slug=data.slug, number=data.revision, part="qrels")
        files.append(("Judgments (qrels)", "text/plain", address))
    if data.has_scores:
        for form, kind in (("csv", "text/csv"), ("json", "application/json")):
            files.append(("Board", kind, url_for("boards.export", slug=data.slug, form=form)))
    return [
        {"@type": "DataDownload", "name": name, "encodingFormat": kind, "contentUrl": own_origin() + address}
        for name, kind, address in files
    ]


def _licence(text: str) -> str | dict[str, str]:
    """The URL of a licence if given or well known, else its name."""
    if text.startswith(("https://", "http://")):
        return text
    if text.upper().startswith("CC0"):
        return "https://creativecommons.org/publicdomain/zero/1.0/"
    if match := _CREATIVE_COMMONS.fullmatch(text.strip()):
        return f"https://creativecommons.org/licenses/{match[1].lower()}/{match[2]}/"
    return {"@type": "CreativeWork", "name": text} if text else ""


def _day(moment: datetime | None) -> str:
    return f"{moment:%Y-%m-%d}" if moment else ""


def _span(opens: datetime | None, closes: datetime | None) -> str:
    return f"{_day(opens) or '..'}/{_day(closes) or '..'}" if opens or closes else ""
