"""Documents and topics of the demo task, and the words both are cut into."""

import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import zstandard

FOLDER = Path(__file__).parent.parent / "leaderboard" / "demo"
STOPWORDS = frozenset(
    """a an and are as at be but by can do does for from has have how i if in into is it its my not of on or
    that the their them then there these they this to was what when where which why will with you""".split()  # noqa: SIM905
)
WORD = re.compile(r"[a-z0-9]+")


@dataclass(frozen=True)
class Document:
    """One entry of the collection."""

    docno: str
    title: str
    text: str


@dataclass(frozen=True)
class Topic:
    """One topic: what is typed into the search box, and what is meant."""

    number: str
    type: str
    title: str
    description: str
    narrative: str
    subtopics: tuple[str, ...]


def documents(folder: Path = FOLDER) -> list[Document]:
    """Every document in the order of the file, which is docno order."""
    packed = (folder / "documents.jsonl.zst").read_bytes()
    plain = zstandard.ZstdDecompressor().decompress(packed).decode("utf-8")
    records = (json.loads(line) for line in plain.split("\n") if line)
    return [Document(record["_id"], record["title"], record["text"]) for record in records]


def topics(folder: Path = FOLDER) -> list[Topic]:
    """Every topic in the order of the file."""
    root = ET.parse(folder / "topics.xml").getroot()
    return [
        Topic(
            number=node.attrib["number"],
            type=node.attrib["type"],
            title=node.findtext("query", ""),
            description=node.findtext("description", ""),
            narrative=node.findtext("narrative", ""),
            subtopics=tuple(child.text or "" for child in node.findall("subtopic")),
        )
        for node in root.findall("topic")
    ]


def stem(word: str) -> str:
    """The word without a plural ending (Harman's S stemmer, SIGIR 1991)."""
    if word.endswith("ies") and len(word) > 4 and not word.endswith(("eies", "aies")):
        return word[:-3] + "y"
    if word.endswith("es") and len(word) > 3 and not word.endswith(("aes", "ees", "oes")):
        return word[:-1]
    if word.endswith("s") and len(word) > 3 and not word.endswith(("us", "ss")):
        return word[:-1]
    return word


def words(text: str) -> list[str]:
    """The index terms of a text: lower case, split at all but letters and digits, stopped, stemmed."""
    return [stem(word) for word in WORD.findall(text.lower()) if word not in STOPWORDS]


def ngrams(text: str, size: int = 4) -> list[str]:
    """The character n-grams of a text, one blank before, between and after its words."""
    padded = " " + " ".join(WORD.findall(text.lower())) + " "
    return [padded[start : start + size] for start in range(len(padded) - size + 1)]


def vocabulary(texts: Sequence[Sequence[str]]) -> dict[str, int]:
    """A column for every term, in alphabetical order."""
    return {term: column for column, term in enumerate(sorted({term for terms in texts for term in terms}))}
