"""BibTeX entries of the works that measures and tests cite in a line.

A citation is surnames, title, where it appeared and year, with commas between; several follow each other with
semicolons. Entries have what it has and no more: surnames stand without first names.
"""

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

from leaderboard.tables.latex import escaped

TREC_EVAL = "trec_eval"
TREC_EVAL_AT = "https://github.com/usnistgov/trec_eval"
_BRACES = {"{": r"\textbraceleft{}", "}": r"\textbraceright{}"}
"""BibTeX counts braces even after a backslash."""
_NAME = r"(?:[vV]an )?[A-ZÄÖÜ][\w’-]*(?: [A-ZÄÖÜ][\w’-]*)?"
_AUTHORS = re.compile(rf"((?:{_NAME}, )*{_NAME} and {_NAME}|{_NAME} et al\.|{_NAME}), ")
_BEFORE = re.compile(r"^(?:in this form |.* since |[a-z ]+: )")
"""Phrases before a further work."""
_YEAR = re.compile(r",? ((?:19|20)\d\d)(?=,|$)")
_PLACES = ("section ", "exercise ")
"""Parts of a work that are not part of its entry."""
_NO_WORDS = frozenset(("a", "an", "the", "on"))


@dataclass(frozen=True, slots=True)
class CitedWork:
    """A work as it is cited; where and year may be empty."""

    authors: tuple[str, ...]
    title: str
    where: str
    year: str

    @property
    def key(self) -> str:
        """The first surname, the year and the first word of the title, in plain small letters."""
        if not self.authors:
            return TREC_EVAL
        words = [word for word in re.findall(r"\w+", _plain(self.title)) if word not in _NO_WORDS]
        return f"{''.join(re.findall('[a-z]', _plain(self.authors[0])))}{self.year}{words[0]}"

    @property
    def entry(self) -> str:
        """Its entry."""
        others = {"et al.": "others"}
        names = " and ".join(
            others.get(name) or (f"{{{name}}}" if " " in name else name) for name in self.authors
        )
        fields = {
            "author": names,
            "title": f"{{{bibtex(self.title)}}}",
            "howpublished": bibtex(self.where),
            "year": self.year,
            "url": "" if self.authors else TREC_EVAL_AT,
        }
        return misc(self.key, fields)


@lru_cache(maxsize=256)
def cited_works(citation: str) -> tuple[CitedWork, ...]:
    """The works of a citation; none of an empty one.

    >>> work, = cited_works("Student, The Probable Error of a Mean, Biometrika 6(1), 1908")
    >>> work.key, work.authors, work.where
    ('student1908probable', ('Student',), 'Biometrika 6(1)')
    """
    return tuple(_work(_BEFORE.sub("", part)) for part in citation.split("; ") if part)


def misc(key: str, fields: dict[str, str]) -> str:
    """An entry of the kind that fits everything, with the fields that are not empty."""
    lines = [f"  {name} = {{{value}}}," for name, value in fields.items() if value]
    return "\n".join([f"@misc{{{key},", *lines, "}"]) + "\n"


def bibtex(text: str) -> str:
    """The text as a BibTeX field prints it letter by letter, with braces that BibTeX can count.

    >>> print(bibtex("50% of {all}"))
    50\\% of \\textbraceleft{}all\\textbraceright{}
    """
    return "".join(_BRACES.get(part) or escaped(part) for part in re.split(r"([{}])", text))


def _work(text: str) -> CitedWork:
    if TREC_EVAL in text:
        return CitedWork((), TREC_EVAL, "", "")
    match = _AUTHORS.match(text)
    if match is None:
        raise ValueError(f"{text!r} does not begin with surnames")
    year = _YEAR.search(text)
    title, *where = _YEAR.sub("", text[match.end() :]).split(", ")
    whole = ", ".join(part for part in where if not part.startswith(_PLACES))
    return CitedWork(_surnames(match[1]), title, whole, year[1] if year else "")


def _surnames(authors: str) -> tuple[str, ...]:
    if authors.endswith(" et al."):
        return (authors.removesuffix(" et al."), "et al.")
    *first, last = authors.split(", ")
    return (*first, *last.split(" and "))


def _plain(text: str) -> str:
    apart = unicodedata.normalize("NFKD", text)
    return "".join(letter for letter in apart if letter.isascii()).lower()
