"""Topics written in TREC's SGML, whose tags are often left open, and in XML."""

import html
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from xml.parsers import expat

from leaderboard.errors import Problem
from leaderboard.trec.read.lines import Problems

_TAG = re.compile(
    r"<(/?)(top|num|title|query|question|desc|narr|dom|smry|con|fac|def|head|nat|time|querytime|querytweettime|linkurl)\b[^<>]*>",
    re.I,
)
_REFERENCE = re.compile(r"&(?:amp|lt|gt|quot|apos|#\d{1,7}|#x[0-9a-f]{1,6});", re.IGNORECASE)
_LABELS = {
    "num": re.compile(r"Number\s*:\s*", re.IGNORECASE),
    "title": re.compile(r"Topic\s*:\s*", re.IGNORECASE),
    "desc": re.compile(r"Description\s*:\s*", re.IGNORECASE),
    "narr": re.compile(r"Narrative\s*:\s*", re.IGNORECASE),
}
_XML_IDS = ("number", "id", "num", "qid", "identifier")
_XML_TITLES = ("title", "query")
_TOPIC_ELEMENTS = ("topic", "top")


@dataclass(frozen=True, slots=True)
class Draft:
    """A topic as read, before its id is checked; line is where it starts."""

    line: int
    topic_id: str
    title: str = ""
    description: str = ""
    narrative: str = ""
    subtopics: tuple[tuple[str, str, str], ...] = ()
    limit: int | None = None


def unescaped(text: str) -> str:
    """The text with the character references of XML and SGML resolved; a lone & stays."""
    return _REFERENCE.sub(lambda match: html.unescape(match[0]), text)


def sgml_topics(lines: Iterable[tuple[int, str]], problems: Problems) -> Iterator[Draft]:
    """The topics between <top> and </top>; a tag holds until the next known one."""
    start, name = 0, ""
    parts: dict[str, list[str]] = {}
    for number, line in lines:
        position = 0
        for tag in _TAG.finditer(line):
            parts.setdefault(name, []).append(line[position : tag.start()])
            position = tag.end()
            closing, name = tag[1] == "/", tag[2].lower()
            if name == "top":
                if start:
                    yield _sgml_topic(start, parts)
                start, parts = (0 if closing else number), {}
            if closing:
                name = ""
        parts.setdefault(name, []).append(line[position:])
    if start:
        remedy = "Check that the file is complete."
        problems.add(Problem("The last topic has no </top>.", remedy, start))


def _sgml_topic(line: int, parts: dict[str, list[str]]) -> Draft:
    def text(name: str) -> str:
        joined = " ".join(" ".join(parts.get(name, [])).split())
        if name in _LABELS:
            joined = _LABELS[name].sub("", joined, count=1) if _LABELS[name].match(joined) else joined
        return unescaped(joined).strip()

    title = text("title") or text("query")
    return Draft(line, text("num"), title, text("desc") or text("question"), text("narr"))


def xml_topics(lines: Iterable[tuple[int, str]], problems: Problems) -> list[Draft]:
    """The <topic> elements of an XML file; a document type or an entity declaration is refused."""
    collector = _Collector()
    try:
        for _, line in lines:
            collector.parser.Parse(line + "\n", False)
        collector.parser.Parse("", True)
    except _Declares as error:
        rule = "The XML declares a document type or entities, which are not read."
        problems.add(Problem(rule, "Delete the declaration and write the text out.", error.line))
    except expat.ExpatError as error:
        rule = f"This is not well-formed XML: {expat.ErrorString(error.code)}."
        problems.add(Problem(rule, "Fix the element on this line.", error.lineno))
    return collector.topics


class _Declares(Exception):
    def __init__(self, line: int) -> None:
        super().__init__()
        self.line = line


@dataclass
class _Element:
    """What is kept of an element: its name, attributes and the text in it and below."""

    name: str
    attributes: dict[str, str]
    line: int
    text: list[str] = field(default_factory=list)
    children: list["_Element"] = field(default_factory=list)

    def content(self) -> str:
        """The text, blanks collapsed."""
        return " ".join("".join(self.text).split())

    def first(self, *names: str) -> str:
        """The text of the first child of one of these names, '' without one."""
        texts = (child.content() for name in names for child in self.children if child.name == name)
        return next((text for text in texts if text), "")


class _Collector:
    """Expat's handlers: builds the <topic> elements and forgets the rest."""

    def __init__(self) -> None:
        self.topics: list[Draft] = []
        self.open: list[_Element] = []
        self.parser = expat.ParserCreate("utf-8")
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._data
        self.parser.StartDoctypeDeclHandler = self._refuse
        self.parser.EntityDeclHandler = self._refuse

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if self.open or name.lower() in _TOPIC_ELEMENTS:
            self.open.append(_Element(name.lower(), attributes, self.parser.CurrentLineNumber))

    def _end(self, name: str) -> None:
        if not self.open:
            return
        element = self.open.pop()
        if not self.open:
            self.topics.append(_xml_topic(element))
            return
        self.open[-1].children.append(element)
        if element.name != "subtopic":
            self.open[-1].text.extend(element.text)

    def _data(self, text: str) -> None:
        if self.open:
            self.open[-1].text.append(text)

    def _refuse(self, *_: object) -> None:
        raise _Declares(self.parser.CurrentLineNumber)


def _xml_topic(element: _Element) -> Draft:
    attribute = next((element.attributes[name] for name in _XML_IDS if name in element.attributes), "")
    text_alone = "" if element.children else element.content()
    subtopics = [
        (child.attributes.get("number", str(place)), child.content(), child.attributes.get("type", ""))
        for place, child in enumerate((one for one in element.children if one.name == "subtopic"), 1)
    ]
    return Draft(
        element.line,
        attribute.strip() or element.first(*_XML_IDS),
        element.first(*_XML_TITLES) or text_alone,
        element.first("description", "desc", "question"),
        element.first("narrative", "narr"),
        tuple(subtopics),
    )
