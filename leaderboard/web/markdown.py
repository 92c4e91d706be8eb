"""Markdown written by users, as HTML that cannot carry a script, an image or an unmarked link."""

import nh3
from markdown_it import MarkdownIt
from markupsafe import Markup

from leaderboard.core import prose
from leaderboard.memory import keep

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
