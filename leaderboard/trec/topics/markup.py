"""Topics written in TREC's SGML, whose tags are often left open, and in XML."""

import html
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from xml.parsers import expat

from leaderboard.errors import Problem
from leaderboard.trec.read.lines import Problems
from leaderboard.trec.topics.records import Content, Note, Record, squeezed

_TAG = re.compile(r"<(/?)([A-Za-z][\w.-]*)(?:\s[^<>]*)?>")
# fmt: off
_KNOWN = frozenset((
    "top", "num", "title", "query", "question", "desc", "narr", "dom", "smry", "con", "fac", "def", "head",
    "nat", "time", "querytime", "querytweettime", "linkurl", "number", "id", "qid", "description",
    "narrative",
))
# fmt: on
_REFERENCE = re.compile(r"&(?:amp|lt|gt|quot|apos|#\d{1,7}|#x[0-9a-f]{1,6});", re.IGNORECASE)
_LABELS = {
    "num": re.compile(r"Number\s*:\s*", re.IGNORECASE),
    "title": re.compile(r"Topic\s*:\s*", re.IGNORECASE),
    "desc": re.compile(r"Description\s*:\s*", re.IGNORECASE),
    "narr": re.compile(r"Narrative\s*:\s*", re.IGNORECASE),
}
_AMPERSAND = re.compile(
    r"<!\[CDATA\[.*?\]\]>|<!--.*?-->|&(?P<entity>[A-Za-z]\w*;|#\d+;|#x[0-9A-Fa-f]+;)?", re.DOTALL
)
_OF_XML = frozenset({"amp;", "lt;", "gt;", "quot;", "apos;"})
_DECLARATION = re.compile(r"\s*<\?xml\b.*?\?>", re.DOTALL)
_RECORDS = frozenset({"topic", "top", "query", "question", "argument", "session", "item", "claim"})
_IDS = frozenset({"number", "id", "num", "qid", "identifier", "topicid", "queryid"})
_NAMED = frozenset({"field", "attribute", "property"})
DEEPEST_NAMES = 5
DEEPEST = 100
"""Elements within each other; each level copies the text below it."""


def unescaped(text: str) -> str:
    """The text with the character references of XML and SGML resolved; a lone & stays."""
    return _REFERENCE.sub(lambda match: html.unescape(match[0]), text)


def sgml_topics(lines: Iterable[tuple[int, str]], problems: Problems) -> Content:
    """The topics between <top> and </top>; a tag holds until the next known one or one that begins a line."""
    content, start, name = Content([]), 0, ""
    parts: dict[str, list[str]] = {}
    for number, line in lines:
        position = 0
        for tag in _TAG.finditer(line):
            closing, tag_name = tag[1] == "/", tag[2].lower()
            begins = not closing and not line[: tag.start()].strip()
            if tag_name not in _KNOWN and not begins and not (closing and tag_name == name):
                continue
            parts.setdefault(name, []).append(line[position : tag.start()])
            position, name = tag.end(), tag_name
            if name == "top":
                if start:
                    content.records.append(_sgml_record(start, parts))
                start, parts = (0 if closing else number), {}
            if closing:
                name = ""
        parts.setdefault(name, []).append(line[position:])
    if start:
        remedy = "Check that the file is complete."
        problems.add(Problem("The last topic has no </top>.", remedy, start))
    return content


def _sgml_record(line: int, parts: dict[str, list[str]]) -> Record:
    values = {}
    for name, pieces in parts.items():
        text = " ".join(" ".join(pieces).split())
        if name in _LABELS and (label := _LABELS[name].match(text)):
            text = text[label.end() :]
        if name not in ("", "top"):
            values[name] = unescaped(text).strip()
    return Record(line, values)


@dataclass
class _Element:
    """An element: name, attributes, its own text and all text in it, subtopics apart."""

    name: str
    attributes: dict[str, str]
    line: int
    depth: int
    own: list[str] = field(default_factory=list)
    text: list[str] = field(default_factory=list)
    children: list["_Element"] = field(default_factory=list)

    def content(self) -> str:
        """The text, blanks collapsed."""
        return " ".join("".join(self.text).split())


def xml_topics(text: str, problems: Problems) -> Content:
    """The elements of an XML file that are topics; nothing is fetched, no entity of its own expanded."""
    content = Content([])
    tree = _Tree()
    text, bare = _plain(text)
    try:
        tree.read(text)
    except _Refused as error:
        problems.add(error.problem)
        return content
    except expat.ExpatError as error:
        rule = f"This is not well-formed XML: {expat.ErrorString(error.code)}."
        problems.add(Problem(rule, "Fix the element on this line.", error.lineno))
        return content
    content.records = [_xml_record(element) for element in _topics_in(tree.roots)]
    if not content.records:
        names = ", ".join(f"<{root.name}>" for root in tree.roots[:3])
        rule = f"This is XML, but no element in {names} is a topic with an id."
        remedy = 'Write <topics><topic number="1"><title>...</title></topic></topics>.'
        problems.add(Problem(rule, remedy))
    if bare:
        note = f"{bare:,} & that begin no character reference are kept as text."
        if bare == 1:
            note = "1 & that begins no character reference is kept as text."
        content.notes.append(Note(note, asks=False))
    return content


def _plain(text: str) -> tuple[str, int]:
    """The text with HTML's names of characters resolved; any other & as XML asks, and how many were not."""
    bare = 0

    def mended(match: re.Match[str]) -> str:
        nonlocal bare
        entity = match["entity"]
        if not match[0].startswith("&") or (entity and (entity in _OF_XML or entity.startswith("#"))):
            return match[0]
        meant = html.unescape(match[0]) if entity else "&"
        if meant not in ("&", match[0]):
            return html.escape(meant, quote=False)
        bare += 1
        return "&amp;" + match[0][1:]

    return _AMPERSAND.sub(mended, text), bare


class _Refused(Exception):
    def __init__(self, rule: str, remedy: str, line: int) -> None:
        super().__init__()
        self.problem = Problem(rule, remedy, line)


class _Tree:
    """Expat's handlers: builds the elements of a file, which may have several roots."""

    def __init__(self) -> None:
        self.roots: list[_Element] = []
        self.open: list[_Element] = []
        self.parser = expat.ParserCreate("utf-8")
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._data
        self.parser.EntityDeclHandler = self._refuse

    def read(self, text: str) -> None:
        """Read a file; one without a document type may have more than one element outside of all others."""
        is_typed = "<!DOCTYPE" in text
        if not is_typed:
            declared = _DECLARATION.match(text)
            end = declared.end() if declared else 0
            text = "<file>" + "\n" * text.count("\n", 0, end) + text[end:] + "</file>"
        self.parser.Parse(text, True)
        if not is_typed:
            self.roots = self.roots[0].children

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        line = self.parser.CurrentLineNumber
        if len(self.open) > DEEPEST:
            rule = f"The XML has more than {DEEPEST} nested elements; no topics file has that many."
            raise _Refused(rule, "Check that this is the topics file.", line)
        self.open.append(_Element(name.rpartition(":")[2].lower(), attributes, line, len(self.open)))

    def _end(self, _: str) -> None:
        element = self.open.pop()
        if not self.open:
            self.roots.append(element)
            return
        self.open[-1].children.append(element)
        if element.name != "subtopic":
            self.open[-1].text.extend(element.text)

    def _data(self, text: str) -> None:
        self.open[-1].own.append(text)
        self.open[-1].text.append(text)

    def _refuse(self, *_: object) -> None:
        rule = "The XML declares its own entities, which are not read."
        remedy = "Delete the declaration and write the text out."
        raise _Refused(rule, remedy, self.parser.CurrentLineNumber)


def _walk(elements: list[_Element]) -> Iterator[_Element]:
    waiting = list(reversed(elements))
    while waiting:
        element = waiting.pop()
        yield element
        waiting.extend(reversed(element.children))


def _topics_in(roots: list[_Element]) -> list[_Element]:
    """The outermost elements called like topics that have an id, else the most common children of roots."""
    candidates = [
        element
        for element in _walk(roots)
        if element.name in _RECORDS and (_has_id(element) or element.name in ("topic", "top"))
    ]
    if candidates:
        depth = min(element.depth for element in candidates)
        name = Counter(element.name for element in candidates if element.depth == depth).most_common(1)[0][0]
        return [element for element in candidates if element.depth == depth and element.name == name]
    children = [child for root in roots for child in root.children if _has_id(child)]
    common = Counter(child.name for child in children).most_common(1)
    return [child for child in children if child.name == common[0][0]]


def _has_id(element: _Element) -> bool:
    names = [*element.attributes, *(child.name for child in element.children)]
    return any(squeezed(name) in _IDS for name in names)


def _xml_record(element: _Element) -> Record:
    values: dict[str, str] = {name.lower(): value.strip() for name, value in element.attributes.items()}
    if not element.children:
        values.setdefault("text", element.content())
    subtopics = [child for child in _walk(element.children) if child.name == "subtopic"]
    _add(element.children, "", values)
    return Record(
        element.line,
        values,
        tuple(
            (
                subtopic.attributes.get("number", str(place)),
                subtopic.content(),
                subtopic.attributes.get("type", ""),
            )
            for place, subtopic in enumerate(subtopics, 1)
        ),
    )


def _add(children: list[_Element], prefix: str, values: dict[str, str]) -> None:
    """Put the text of elements into values; one that holds only elements is a step of their names."""
    for child in children:
        if child.name == "subtopic":
            continue
        own = child.attributes.get("name", "") if child.name in _NAMED else ""
        name = prefix + (own or child.name)
        if child.children and not "".join(child.own).strip() and prefix.count(".") < DEEPEST_NAMES:
            _add(child.children, f"{name}.", values)
            continue
        language = next((value for key, value in child.attributes.items() if key.endswith("lang")), "")
        if language and name in values:
            name = f"{name}.{language}"
        content = child.content()
        values[name] = (
            f"{values[name]}; {content}" if values.get(name) and content else values.get(name) or content
        )
