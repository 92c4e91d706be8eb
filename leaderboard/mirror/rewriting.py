"""A page as it is without a server: links among files, no forms, no scripts but what works on its own."""

import re
from collections.abc import Callable
from html import escape, unescape
from html.parser import HTMLParser

LINKS = re.compile(r'(\s(?:href|src|xlink:href))="([^"]*)"')
LEADING = re.compile(r"<(?:a|link|img|script|image|use)\b[^>]*>")
"""Tags that lead somewhere; our pages escape > in all that is written into them."""
CONTENT = re.compile(r"<(?:table|p|h[1-6]|ul|dl)\b")
"""What a form is kept for, without its fields."""
SILENCED = {"script", "select", "textarea", "button"}
"""Elements that ask a server, with all that is in them."""
KEPT_SCRIPTS = ("/static/app.", "/search.js")
SITE_SEARCH = {("role", "search"), ("aria-label", "Site")}
SEARCH = '<a href="/search">Search</a>'
"""The form that searches the site, and what is in its place."""
STAYING = ("#", "data:", "mailto:")
"""How addresses begin that are the same in a mirror."""
Link = Callable[[str], str | None]
"""The address to write for the address of a link; None where it leads nowhere."""


def links(page: str) -> list[str]:
    """The addresses that a page leads to or needs.

    >>> links('<a href="/a?x=1&amp;y">A</a><a href="#b">B</a><script src="/htmx.js"></script>')
    ['/a?x=1&y']
    """
    tags = (tag[0] for tag in LEADING.finditer(page))
    kept = (tag for tag in tags if not tag.startswith("<script") or any(name in tag for name in KEPT_SCRIPTS))
    found = (unescape(link[2]) for tag in kept for link in LINKS.finditer(tag))
    return [address for address in found if not address.startswith(STAYING)]


def rewritten(page: str, link: Link, note: str = "") -> str:
    """The page with its links changed and what needs a server left out; note is HTML for its foot.

    >>> rewritten('<p><a href="/a?x=1&amp;y">A</a><input name="q"></p>', lambda address: None)
    '<p><a>A</a></p>'
    """
    writer = _Writer(link, note)
    writer.feed(page)
    writer.close()
    return writer.text()


class _Writer(HTMLParser):
    """Writes what it reads, tag by tag as it was, but for what needs a server."""

    def __init__(self, link: Link, note: str) -> None:
        super().__init__(convert_charrefs=False)
        self._link = link
        self._note = note
        self._written: list[list[str]] = [[]]
        self._silent = ""
        self._depth = 0
        self._instead = ""
        self._navs = 0

    def text(self) -> str:
        return "".join(self._written[0])

    def _say(self, text: str) -> None:
        if not self._silent:
            self._written[-1].append(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self._silent:
            self._depth += tag == self._silent
        elif self._is_left_out(tag, dict(attrs)):
            self._silent, self._depth = tag, 1
        elif tag == "form":
            self._written.append([])
            self._instead = SEARCH if set(attrs) >= SITE_SEARCH else ""
        else:
            self.handle_startendtag(tag, attrs)

    def _is_left_out(self, tag: str, attributes: dict[str, str | None]) -> bool:
        """Whether an element goes with all that is in it; elsewhere the text of a link says something."""
        if tag == "a" and self._navs:
            address = attributes.get("href") or "#"
            return not address.startswith("#") and self._link(address) is None
        return tag in SILENCED and not _is_kept(tag, attributes)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._navs += tag == "nav"
        if tag != "input":
            written = self.get_starttag_text() or ""
            self._say(LINKS.sub(self._linked, written) if LEADING.match(written) else written)

    def _linked(self, found: re.Match[str]) -> str:
        address = unescape(found[2])
        other = address if address.startswith(STAYING) else self._link(address)
        return "" if other is None else f'{found[1]}="{escape(other)}"'

    def handle_endtag(self, tag: str) -> None:
        if self._silent:
            self._depth -= tag == self._silent
            self._silent = self._silent if self._depth else ""
        elif tag == "form":
            body = "".join(self._written.pop())
            self._say(body if CONTENT.search(body) else LINKS.sub(self._linked, self._instead))
        else:
            self._navs -= tag == "nav"
            self._say(self._note if tag == "footer" else "")
            self._say(f"</{tag}>")

    def handle_data(self, data: str) -> None:
        self._say(data)

    def handle_entityref(self, name: str) -> None:
        self._say(f"&{name};")

    def handle_charref(self, name: str) -> None:
        self._say(f"&#{name};")

    def handle_decl(self, decl: str) -> None:
        self._say(f"<!{decl}>")


def _is_kept(tag: str, attributes: dict[str, str | None]) -> bool:
    source = attributes.get("src") or ""
    is_data = (attributes.get("type") or "").endswith("+json")
    return tag == "script" and (is_data or any(kept in source for kept in KEPT_SCRIPTS))
