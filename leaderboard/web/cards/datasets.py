"""JSON-LD of a task: schema.org's Dataset, in the head of its board.

A data block is no script, so the policy of content does not stop it. No name can end it early.
"""

import json
import re
from datetime import datetime
from typing import Any

from flask import url_for
from markupsafe import Markup

from leaderboard.pages.cards import TaskData
from leaderboard.web.security import own_origin

_CREATIVE_COMMONS = re.compile(r"CC[ -](BY(?:-NC)?(?:-SA|-ND)?)[ -](\d\.\d)", re.IGNORECASE)
_ESCAPES = {ord(letter): f"\\u{ord(letter):04x}" for letter in "<>&\u2028\u2029"}


def block(data: TaskData) -> Markup:
    """The task as the text of a data block."""
    found = {name: value for name, value in _dataset(data).items() if value}
    # Every letter that could end the block or begin a tag stands as JSON's own escape.
    return Markup(json.dumps(found, ensure_ascii=False).translate(_ESCAPES))


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
    """The address of a licence where it is one or is well known, else its name."""
    if text.startswith(("https://", "http://")):
        return text
    if text.upper().startswith("CC0"):
        return "https://creativecommons.org/publicdomain/zero/1.0/"
    if found := _CREATIVE_COMMONS.fullmatch(text.strip()):
        return f"https://creativecommons.org/licenses/{found[1].lower()}/{found[2]}/"
    return {"@type": "CreativeWork", "name": text} if text else ""


def _day(moment: datetime | None) -> str:
    return f"{moment:%Y-%m-%d}" if moment else ""


def _span(opens: datetime | None, closes: datetime | None) -> str:
    return f"{_day(opens) or '..'}/{_day(closes) or '..'}" if opens or closes else ""
