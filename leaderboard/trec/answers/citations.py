"""What a segment cites: positions among the references, docnos, or docnos with confidences."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from leaderboard.trec.answers.dialects import Dialect
from leaderboard.trec.answers.record import Citation
from leaderboard.trec.read.json_objects import Fault, id_value, kind_of, number_value
from leaderboard.trec.read.lines import shown


class _Form(NamedTuple):
    """A way to cite, in words, and what to write instead of what is not one."""

    words: str
    remedy: str


_POSITIONS = _Form("positions among the references, from 0", "Write whole numbers such as 0.")
_DOCNOS = _Form("document ids", 'Write ids between quotes, such as "d4".')
_EITHER = _Form("positions among the references, or document ids", 'Write 0, or "d4" between quotes.')


@dataclass
class CitedLine:
    """What the citations of one line are read against.

    references: None where the line has none; find: takes finding, rule, remedy, field and value.
    """

    dialect: Dialect
    references: tuple[str, ...] | None
    find: Callable[..., None]
    kinds: set[type] = field(default_factory=set)

    def __post_init__(self) -> None:
        most = self.dialect.most_references
        self.known = frozenset(self.references or ())
        self.dropped = self.known - frozenset((self.references or ())[:most])

    @property
    def form(self) -> _Form:
        """How this dialect cites."""
        if self.dialect.positions and self.dialect.docnos:
            return _EITHER
        return _POSITIONS if self.dialect.positions else _DOCNOS


def citations_of(line: CitedLine, given: Any, segment: int) -> tuple[Citation, ...]:
    """A segment's citations, strongest first, each document once; raises Fault where the form is wrong."""
    if isinstance(given, dict) and line.dialect.maps:
        cited: Iterable[Citation] = _by_confidence(given)
    elif isinstance(given, list):
        cited = list(_listed(line, given, segment))
    else:
        also = " or an object" if line.dialect.maps else ""
        raise Fault(
            f"citations must be a list{also}, not {kind_of(given)}.",
            line.form.remedy,
            "segment",
            str(segment),
        )
    most = line.dialect.most_citations
    if most is not None and len(given) > most:
        rule = f"A segment cites at most {most} documents; segment {segment} (from 0) cites {len(given)}."
        line.find("too many citations", rule, "Keep the strongest.", "citations", str(len(given)))
    return tuple(_once(line, _known(line, cited, segment), segment))


def _by_confidence(given: dict[str, Any]) -> list[Citation]:
    """A map's documents by confidence descending, equal ones in the file's order."""
    cited = [
        Citation(id_value(docno, "citation"), number_value(value, "confidence"))
        for docno, value in given.items()
    ]
    return sorted(cited, key=lambda citation: -(citation.confidence or 0.0))


def _listed(line: CitedLine, given: list[Any], segment: int) -> Iterator[Citation]:
    for value in given:
        is_position = isinstance(value, int) and not isinstance(value, bool)
        allowed = line.dialect.positions if is_position else line.dialect.docnos and isinstance(value, str)
        if not allowed:
            raise Fault(
                f"Citations are {line.form.words}, not {kind_of(value)}.",
                line.form.remedy,
                "citation",
                shown(str(value)),
            )
        line.kinds.add(type(value))
        if len(line.kinds) > 1 and not line.dialect.mixed:
            raise Fault(
                "The answer cites by positions and by document ids.",
                "Use one of them.",
                "citation",
                shown(str(value)),
            )
        if not is_position:
            yield Citation(id_value(value, "citation"))
        elif 0 <= value < len(line.references or ()):
            yield Citation((line.references or ())[value])
        else:
            count = len(line.references or ())
            rule = f"Segment {segment} (from 0) cites a position that the {count} references do not have."
            line.find("unknown citation", rule, "Count references from 0.", "citation", str(value))


def _known(line: CitedLine, cited: Iterable[Citation], segment: int) -> Iterator[Citation]:
    """The citations that stay: those of references beyond the most are dropped, others looked for."""
    for citation in cited:
        if citation.docno in line.dropped:
            continue
        if line.references is not None and citation.docno not in line.known:
            rule = f"Segment {segment} (from 0) cites a document that is not among the references."
            remedy = "Add it to the references, or leave it out."
            line.find("unknown citation", rule, remedy, "citation", citation.docno)
        yield citation


def _once(line: CitedLine, cited: Iterable[Citation], segment: int) -> Iterator[Citation]:
    seen: set[str] = set()
    for citation in cited:
        if citation.docno in seen:
            rule = f"Segment {segment} (from 0) cites the document twice; its first place counts."
            line.find("cited twice", rule, "Cite each document once.", "citation", citation.docno)
        else:
            seen.add(citation.docno)
            yield citation
