"""Saves the responses of a running site at every address, and compares two such crawls.

It follows links with GET, as a visitor or signed in by a one-time link. Nothing of the program is imported,
so sites of any two versions can be compared: `python -m benchmarks.crawl --help`.
"""

import argparse
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from email.message import Message
from hashlib import sha256
from http.cookiejar import CookieJar
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import parse_qsl, urldefrag, urlencode, urljoin, urlsplit
from urllib.request import HTTPCookieProcessor, HTTPRedirectHandler, OpenerDirector, Request, build_opener

from bs4 import BeautifulSoup

from benchmarks import answers
from benchmarks.answers import Answer, Comparison

LIMIT = 4000
OF_FORM = 8
PARTS = ("figure", "table", "kind")
"""Arguments whose value says which of a page's answers is asked for."""
LINKS = "[href]:not([rel~=stylesheet], [rel~=icon])"
UNREAD = ("title", "script", "style", "template")
"""Parts of a page whose text nobody reads on it."""
TIMEOUT_S = 120


class _Unfollowed(HTTPRedirectHandler):
    """A redirection is an answer like others: its target is one more link."""

    def redirect_request(self, *_: Any) -> None:
        """Follow no redirect."""


class Crawler:
    """Asks one site, as one person."""

    def __init__(self, url: str, *, limit: int = LIMIT, of_form: int = OF_FORM) -> None:
        """`limit`: most addresses; of_form: most of those that differ only in ids and arguments."""
        parts = urlsplit(url)
        self.origin = f"{parts.scheme}://{parts.netloc}"
        self.limit, self.of_form = limit, of_form
        self.left_out: set[str] = set()
        """Addresses that were linked to and not asked for, since there were enough of them."""
        self._client: OpenerDirector = build_opener(HTTPCookieProcessor(CookieJar()), _Unfollowed)

    def sign_in(self, link: str) -> None:
        """Use up a one-time link as its page's button does; ends the program where it does not work."""
        status, *_ = self._ask(Request(link, data=b"", headers={"Sec-Fetch-Site": "same-origin"}))
        if status != 303:
            sys.exit(f"{link} answered {status}: it was used before, or it has run out")

    def crawl(self, starts: Sequence[str], known: frozenset[str] = frozenset()) -> Iterator[Answer]:
        """The answers of the start addresses and of what they lead to, nearest first.

        Known addresses do not count for the limits, and no others of their forms are asked for: told the
        addresses of another crawl it asks for the same, if they are linked to, and for new forms.
        """
        forms = Counter({form(address): self.of_form for address in known})
        seen, level, room = set(starts), list(starts), self.limit - len(starts)
        while level:
            links: set[str] = set()
            for address in level:
                answer, targets = self.ask(address)
                yield answer
                links |= targets - seen
            level = []
            # By digest: those taken of one form are then of any run and topic, not the first by name.
            for address in sorted(links, key=lambda link: sha256(link.encode()).digest()):
                if address not in known:
                    if forms[form(address)] >= self.of_form or not room:
                        self.left_out.add(address)
                        continue
                    forms[form(address)] += 1
                    room -= 1
                level.append(address)
            seen.update(level)

    def ask(self, address: str) -> tuple[Answer, set[str]]:
        """The response of an address, and the addresses of the site that it links to."""
        status, headers, data = self._ask(Request(self.origin + address))
        content, text, title = headers.get_content_type(), data.decode("utf-8", "backslashreplace"), ""
        links = headers.get_all("Location", [])
        if content == "text/html":
            page = BeautifulSoup(text, "html.parser")
            links += [str(tag["href"]) for tag in page.select(LINKS)]
            title = page.title.get_text(" ", strip=True) if page.title else ""
            for tag in page(UNREAD):
                tag.decompose()
            text = " ".join(page.get_text(" ").split())
        whole = [urljoin(self.origin + address, link) for link in links]
        targets = {canonical(link) for link in whole if link.startswith(f"{self.origin}/")}
        return Answer(address, status, content, title, text.replace(self.origin, "")), targets

    def _ask(self, request: Request) -> tuple[int, Message, bytes]:
        try:
            with self._client.open(request, timeout=TIMEOUT_S) as response:
                return response.status, response.headers, response.read()
        except HTTPError as error:
            with error:
                return error.code, error.headers, error.read()


def canonical(link: str) -> str:
    """The address of a link: without origin and anchor, its arguments by name.

    >>> canonical("http://a.org/b?y=1&x=%40&y=0#c")
    '/b?x=%40&y=1&y=0'
    """
    parts = urlsplit(urldefrag(link)[0])
    pairs = sorted(parse_qsl(parts.query, keep_blank_values=True), key=lambda pair: pair[0])
    return (parts.path or "/") + ("?" + urlencode(pairs) if pairs else "")


def form(address: str) -> str:
    """The address with N for each part with a digit, one argument by its name, several without names.

    >>> form("/runs/3/topics/PY01.json?all=&table=ties"), form("/runs?table=ties&q=1&sort=a")
    ('/runs/N/topics/N.json?all&table=ties', '/runs?...&table=ties')
    """
    parts = urlsplit(address)
    pairs = parse_qsl(parts.query, keep_blank_values=True)
    names = {name for name, _ in pairs if name not in PARTS}
    names = {"..."} if len(names) > 1 else names
    names |= {f"{name}={value}" for name, value in pairs if name in PARTS}
    return re.sub(r"[^/.]*\d[^/.]*", "N", parts.path) + ("?" + "&".join(sorted(names)) if names else "")


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.crawl", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    save = commands.add_parser("save", help="ask a site and keep what it answers")
    save.add_argument("url", help="the site's address")
    save.add_argument("folder", type=Path, help=f"where {answers.FILE} is written")
    save.add_argument("--sign-in", metavar="LINK", help="a one-time link; without it as a visitor")
    save.add_argument("--start", action="append", default=["/"], help="an address to begin at besides /")
    save.add_argument("--like", type=Path, metavar="FOLDER", help="ask for the addresses of this crawl")
    save.add_argument("--limit", type=int, default=LIMIT, help=f"most addresses (default: {LIMIT})")
    save.add_argument(
        "--of-form", type=int, default=OF_FORM, help=f"most that differ in ids only (default: {OF_FORM})"
    )
    compare = commands.add_parser("compare", help="exit code 1 where the old crawl says more or otherwise")
    compare.add_argument("old", type=Path)
    compare.add_argument("new", type=Path)
    compare.add_argument(
        "--ignore", action="append", default=[], metavar="KEY", help="a key, a column or an /address"
    )
    compare.add_argument("--text", action="store_true", help="show which words of pages differ")
    compare.add_argument("--all", action="store_true", help="list everything that differs")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    """Save or compare, and print the result."""
    given = _arguments(arguments)
    if given.command == "save":
        crawler = Crawler(given.url, limit=given.limit, of_form=given.of_form)
        if given.sign_in:
            crawler.sign_in(given.sign_in)
        known = frozenset(answers.read(given.like)) if given.like else frozenset()
        count = answers.write(given.folder, crawler.crawl([canonical(start) for start in given.start], known))
        print(f"{count:,} addresses saved; {len(crawler.left_out):,} more were linked to")
        return
    compared = Comparison(answers.read(given.old), answers.read(given.new), frozenset(given.ignore))
    print(compared.summary())
    print(compared.lists(sys.maxsize if given.all else answers.SHOWN, text=given.text))
    sys.exit(1 if compared.fails else 0)


if __name__ == "__main__":
    main()
