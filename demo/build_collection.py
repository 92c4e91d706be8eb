"""Make the demo collection: a document per function, class, section or FAQ item of Python's documentation.

Reads the HTML pages of Debian's package python3.11-doc and writes leaderboard/demo/documents.jsonl.zst, with
the licence notice and COLLECTION.json (package version, counts, checksum) beside it. The same package version
gives the same lines; only the compressed bytes may differ between versions of zstd.
"""

import argparse
import gzip
import hashlib
import json
import re
import subprocess
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import zstandard
from bs4 import BeautifulSoup
from bs4.element import NavigableString, Tag

HTML = Path("/usr/share/doc/python3.11/html")
COPYRIGHT = Path("/usr/share/doc/python3.11-doc/copyright")
OUT = Path(__file__).parent.parent / "leaderboard" / "demo"
PACKAGE = "python3.11-doc"

TEXT_CHARACTERS = 3000
TITLE_CHARACTERS = 160
DOCNO_BYTES = 100
LEAST_ENTRY = 60
"""Characters of text below which a top-level function, class or section makes no document."""
LEAST_METHOD = 140
"""Characters below which a method or constant described outside its class stays in its section's document."""
LEAST_MEMBER = 300
"""Characters below which a member described inside its class stays in the class's document."""

BLOCKS = {
    "p",
    "div",
    "ul",
    "ol",
    "dl",
    "li",
    "dd",
    "dt",
    "table",
    "tr",
    "blockquote",
    "section",
    "pre",
    "aside",
}
SKIPPED = {"nav", "script", "style", "img"}
LEFT_OUT = {"index", "grammar", "clinic", "isolating-extensions", "instrumentation", "pyporting", "cporting"}
LEFT_OUT |= {"curses", "extending", "ipaddress"}
LIBRARY = """
    __future__ __main__ abc argparse asyncio asyncio-exceptions asyncio-queue asyncio-runner
    asyncio-stream asyncio-subprocess asyncio-sync asyncio-task atexit base64 bisect bz2 codecs
    collections collections.abc concurrent.futures configparser constants contextlib copy csv
    dataclasses datetime decimal difflib email.examples enum exceptions filecmp fileinput fnmatch
    fractions functions functools getpass glob gzip hashlib heapq html html.parser inspect intro io
    itertools json logging logging.config math multiprocessing operator os os.path pathlib pdb pickle
    pprint profile queue random re secrets shelve shlex shutil signal smtplib socket sqlite3 statistics
    stdtypes string struct subprocess sys tarfile tempfile textwrap threading time timeit tomllib
    traceback types typing unicodedata unittest urllib.error urllib.parse urllib.request uuid venv
    warnings weakref xml.etree.elementtree zipfile zoneinfo
""".split()  # noqa: SIM905


@dataclass(frozen=True)
class Entry:
    """One document before it is cut: docno, title, text and the page address it came from."""

    docno: str
    title: str
    text: str
    address: str


def pages() -> Iterator[str]:
    """The pages of the collection as `folder/name`, without `.html`, in a fixed order."""
    for folder in ("faq", "howto", "reference", "tutorial"):
        for path in sorted((HTML / folder).glob("*.html")):
            if path.stem not in LEFT_OUT:
                yield f"{folder}/{path.stem}"
    yield from (f"library/{name}" for name in LIBRARY)


def plain(node: Tag) -> str:
    """The text of an element: blocks on lines of their own, code as it is, everything else on one line."""
    blocks: list[str] = []
    inline: list[str] = []

    def flush() -> None:
        line = " ".join("".join(inline).split())
        inline.clear()
        if line:
            blocks.append(line)

    for child in node.children:
        if isinstance(child, NavigableString):
            inline.append(str(child) if type(child) is NavigableString else "")
        elif isinstance(child, Tag) and child.name not in SKIPPED:
            if child.name in BLOCKS:
                flush()
                blocks.append(block(child))
            else:
                inline.append(child.get_text())
    flush()
    return "\n".join(part for part in blocks if part)


def block(node: Tag) -> str:
    """The text of one block element."""
    if node.name == "pre":
        return node.get_text().strip("\n")
    if node.name == "li":
        return "- " + plain(node)
    if node.name == "tr":
        cells = (" ".join(cell.get_text().split()) for cell in node.find_all(["td", "th"]))
        return " | ".join(cells)
    if node.name == "table":
        return "\n".join(block(row) for row in node.find_all("tr"))
    return plain(node)


def one_line(node: Tag) -> str:
    """A heading or signature without its permalink and source link, on one line."""
    return " ".join(node.get_text().split())


def cut(text: str, limit: int) -> str:
    """The text up to a word boundary within the limit, with an ellipsis where something was cut."""
    if len(text) <= limit:
        return text
    head = text[: limit - 2]
    return head[: max(head.rfind(" "), head.rfind("\n"))].rstrip() + " …"


def docno(page: str, anchor: str) -> str:
    """The document number of an anchor: `folder.page.anchor`, the module's name not repeated."""
    folder, name = page.split("/")
    module = name.split("-")[0]
    rest = anchor.removeprefix(f"module-{module}") if anchor.startswith("module-") else anchor
    rest = rest.removeprefix(module + ".").lstrip(".")
    ascii_only = unicodedata.normalize("NFKD", f"{folder}.{name}.{rest}").encode("ascii", "ignore").decode()
    return re.sub(r"[^A-Za-z0-9_.\-]+", "-", ascii_only).strip(".-")[:DOCNO_BYTES].rstrip(".-")


def definition(page: str, node: Tag) -> Entry | None:
    """The entry of a function, class or method definition, or nothing if it is too short to stand alone."""
    heads = node.find_all("dt", recursive=False)
    anchor = heads[0].get("id") if heads else None
    if not isinstance(anchor, str):
        return None
    text = "\n".join(plain(body) for body in node.find_all("dd", recursive=False)).strip()
    inside = node.find_parent("dl", class_="py") is not None
    alone = bool(set(node.get("class") or ()) & {"function", "class", "exception", "decorator"})
    if len(text) < (LEAST_MEMBER if inside else LEAST_ENTRY if alone else LEAST_METHOD):
        return None
    title = " / ".join(one_line(head) for head in heads)
    return Entry(docno(page, anchor), title, text, f"{page}.html#{anchor}")


def section(page: str, node: Tag, page_title: str) -> Entry | None:
    """The entry of a section's own text, or nothing if its subsections and definitions hold all of it."""
    heading = node.find(["h1", "h2", "h3", "h4", "h5", "h6"], recursive=False)
    if heading is None:
        return None
    title = re.sub(r"^[\d.]+ ", "", one_line(heading))
    heading.extract()
    text = plain(node)
    if len(text) < LEAST_ENTRY:
        return None
    top = node.parent is not None and node.parent.name == "div"
    anchor = "" if top else str(node["id"])
    if re.fullmatch(r"id\d+", anchor):
        anchor = f"{title.lower()}-{anchor[2:]}"
    named = title if top or page.startswith("faq/") else f"{title} ({page_title})"
    return Entry(docno(page, anchor), named, text, f"{page}.html#{node['id']}")


def entries(page: str) -> list[Entry]:
    """The entries of one page, inner ones taken out before the outer ones they belong to."""
    soup = BeautifulSoup((HTML / f"{page}.html").read_text(encoding="utf-8"), "html.parser")
    body = soup.find("div", role="main")
    assert isinstance(body, Tag)
    for noise in body.select("a.headerlink, nav.contents, .sphinx-toolbox, p.topic-title"):
        noise.decompose()
    heading = body.find("h1")
    page_title = re.sub(r"^[\d.]+ ", "", one_line(heading)) if isinstance(heading, Tag) else page
    entries: list[Entry] = []
    for node in reversed(body.find_all(["dl", "section"])):
        if node.name == "dl" and "py" not in (node.get("class") or ()):
            continue
        entry = definition(page, node) if node.name == "dl" else section(page, node, page_title)
        if entry is not None:
            entries.append(entry)
        if entry is not None or node.name == "section":
            node.extract()
    return entries


def collection() -> list[Entry]:
    """Every entry once, in docno order; of entries with equal text or equal docno the first page's stays."""
    by_docno: dict[str, Entry] = {}
    texts: set[str] = set()
    for page in pages():
        for entry in reversed(entries(page)):
            if entry.docno not in by_docno and entry.text not in texts:
                by_docno[entry.docno] = entry
                texts.add(entry.text)
    return [by_docno[name] for name in sorted(by_docno)]


def line(entry: Entry) -> str:
    """One line of the corpus file, with the fields of BEIR."""
    record = {
        "_id": entry.docno,
        "title": cut(entry.title, TITLE_CHARACTERS),
        "text": cut(entry.text, TEXT_CHARACTERS),
        "metadata": {"url": "https://docs.python.org/3.11/" + entry.address},
    }
    return json.dumps(record, ensure_ascii=False) + "\n"


def package_version() -> str:
    """The installed version of the Debian package."""
    command = ["dpkg-query", "--show", "--showformat=${Version}", PACKAGE]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def licence() -> str:
    """The copyright file as Debian ships it."""
    packed = COPYRIGHT.with_name(COPYRIGHT.name + ".gz")
    return gzip.decompress(packed.read_bytes()).decode() if packed.exists() else COPYRIGHT.read_text("utf-8")


def main() -> None:
    """Write the collection, its licence notice and its facts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=OUT)
    out: Path = parser.parse_args().out
    collected = collection()
    data = "".join(line(entry) for entry in collected).encode("utf-8")
    out.mkdir(parents=True, exist_ok=True)
    (out / "documents.jsonl.zst").write_bytes(zstandard.ZstdCompressor(level=19).compress(data))
    (out / "LICENSE.python-docs.txt").write_text(licence(), encoding="utf-8")
    facts = {
        "package": PACKAGE,
        "version": package_version(),
        "documents": len(collected),
        "sha256": hashlib.sha256(data).hexdigest(),
    }
    (out / "COLLECTION.json").write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")
    print(f"{len(collected)} documents, {len(data)} bytes plain")


if __name__ == "__main__":
    main()
