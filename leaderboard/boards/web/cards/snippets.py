"""Snippets that embed a badge in other pages, in three markup languages."""

import re
from dataclasses import dataclass
from html import escape

from flask import url_for

from leaderboard.web.security import own_origin

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
