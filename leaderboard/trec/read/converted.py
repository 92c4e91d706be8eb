"""Runs and judgments of other forms as lines of the usual form, with unchanged line numbers."""

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, cast

from leaderboard.errors import Invalid, Problem, TooLarge
from leaderboard.trec.read import forms
from leaderboard.trec.read.archives import Limits, Source, TooSlow
from leaderboard.trec.read.forms import Asked, Head, Kind, is_grade, is_number, is_whole, role_of
from leaderboard.trec.read.json_objects import not_json
from leaderboard.trec.read.lines import Problems, raw_lines, shown
from leaderboard.trec.read.plain import plain_blocks

MOST_JSON = 2**28
"""Bytes of a file that is one JSON value: it is read as a whole."""
QUERIES = "Topics are named by their queries; blanks in these were read as _."
TAG = b"run"
"""Represents the tag of a run that has none."""
NBSP = b"\xc2\xa0"
_LETOR = re.compile(rb"\s*([+-]?\d+)(?:\.0*)?\s+qid:(\S+)([^#]*)(?:#\s*(.*))?")
_DOCID = re.compile(rb"doc(?:id|no)?\s*[=:]\s*(\S+)", re.IGNORECASE)
_WHOLE_DECIMAL = re.compile(rb"([+-]?\d{1,9})\.0*")
_PROBABILITY = re.compile(rb"0?\.\d+|1(\.0*)?|0?\.\d+[eE]-\d+|\d(\.\d+)?[eE]-\d+")
_TIERS = (
    ("unjudged", "notjudged", "unknown"),
    ("nonrelevant", "notrelevant", "irrelevant", "no", "false", "bad", "n", "not", "norelevant", "nonrel"),
    ("marginallyrelevant", "partiallyrelevant", "somewhatrelevant", "marginal", "partial", "partially",
     "related", "fair", "possiblyrelevant"),
    ("relevant", "yes", "true", "good", "y", "rel"),
    ("highlyrelevant", "veryrelevant", "high", "highly", "excellent", "definitelyrelevant"),
    ("perfect", "perfectlyrelevant", "vital", "key"),
)  # fmt: skip
"""Words for grades, from the least: the first is -1, the second 0; of the rest those in the file count."""


@dataclass(eq=False)
class Converted:
    """A source whose plain bytes are in the usual form; how the file was read is in `notes` afterwards.

    guessed: words that were given numbers unasked, as WORD=NUMBER; tagged: whether its entries have a tag.
    """

    rows: Callable[[], Iterator[bytes]]
    kind: Kind
    column_notes: tuple[Problem, ...]
    grades: "_Grades"
    numbered: bool = True
    tagged: bool = True
    columns: tuple[str, ...] = ()
    """Guessed meanings of the columns, if neither a heading nor the usual number decides."""

    def open(self, mode: Literal["rb"]) -> io.BufferedReader:
        """The lines from the beginning."""
        return io.BufferedReader(cast(io.RawIOBase, _Stream(self.rows())), 2**16)

    @property
    def guessed(self) -> tuple[str, ...]:
        """The assumptions made, as a mapping."""
        columns = (f"columns={','.join(self.columns)}",) if self.columns else ()
        return columns + tuple(
            f"{word.decode('utf-8', 'replace')}={grade}" for word, grade in self.grades.guessed.items()
        )

    @property
    def notes(self) -> tuple[Problem, ...]:
        """Notes for the sender on how the file was read."""
        return (*self.column_notes, *self.grades.notes())


class _Stream(io.RawIOBase):
    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._rest = b""

    def readable(self) -> bool:
        return True

    def readinto(self, room: Any) -> int:
        while not self._rest:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._rest = piece
        count = min(len(room), len(self._rest))
        room[:count], self._rest = self._rest[:count], self._rest[count:]
        return count


class _Grades:
    """Written grades as whole numbers; counts what was read otherwise than it stands."""

    def __init__(self, asked: Asked) -> None:
        self.words = dict(asked.words)
        self.guessed: dict[bytes, int] = {}
        self.decimals: Counter[bytes] = Counter()

    def settle(self, firsts: Mapping[bytes, int]) -> None:
        """Give each word a number; raises Invalid where some have none. firsts: grade -> its first line."""
        words = [text for text in firsts if not self._plain(text) and re.search(rb"[A-Za-z]", text)]
        unknown = [word for word in words if word not in self.words]
        # Among numbers a word is more likely a slip, and its number would not be one of a scale of words.
        guess = None if any(map(self._plain, firsts)) else proposed(words)
        if not unknown:
            return
        if guess is None:
            maps = " ".join(f"--map {shown(word)}=NUMBER" for word in unknown[:5])
            rule = "A grade is a whole number of at most 9 digits, or L0 to L9."
            remedy = f"If these words are grades, map each to a number: {maps}."
            some = tuple(map(shown, unknown[:5])) if len(unknown) > 1 else ()
            first = firsts[unknown[0]] or None
            problem = Problem(rule, remedy, first, "grade", shown(unknown[0]), len(unknown), some)
            raise Invalid(f"The qrels file cannot be read: {problem}", [problem])
        self.guessed = {word: grade for word, grade in guess.items() if word not in self.words}
        self.words = {**self.guessed, **self.words}

    @staticmethod
    def _plain(text: bytes) -> bool:
        return is_grade(text) or _WHOLE_DECIMAL.fullmatch(text) is not None

    def of(self, text: bytes) -> bytes:
        """The grade in the usual form; an invalid one is left for the reader to refuse."""
        if text in self.words:
            return b"%d" % self.words[text]
        if whole := _WHOLE_DECIMAL.fullmatch(text):
            self.decimals[text] += 1
            return whole[1]
        return text

    def notes(self) -> Iterator[Problem]:
        """Notes on how the grades were read."""
        if self.decimals:
            first = next(iter(self.decimals))
            count = self.decimals.total()
            rule = f"{count:,} grades are written with a point, such as {shown(first)}."
            yield Problem(rule, "They were read as whole numbers.", None, "", "")
        if self.words:
            pairs = ", ".join(f"{shown(word)}={grade}" for word, grade in self.words.items())
            remedy = f"To change this, submit it again with other numbers (--map {pairs.split(', ')[0]})."
            yield Problem(f"Grade words were read as {pairs}.", remedy if self.guessed else "", None, "", "")


def proposed(words: list[bytes]) -> dict[bytes, int] | None:
    """Numbers for words that are known as grades, None where one is not.

    >>> proposed([b"relevant", b"Not relevant", b"highly_relevant"])
    {b'relevant': 1, b'Not relevant': 0, b'highly_relevant': 2}
    """
    tiers = {word: re.sub(r"[\W_]", "", word.decode("utf-8", "replace").casefold()) for word in words}
    places = {
        word: next((place for place, tier in enumerate(_TIERS) if plain in tier), None)
        for word, plain in tiers.items()
    }
    present = [place for place in places.values() if place is not None]
    if len(present) < len(places):
        return None
    positive = sorted({place for place in present if place > 1})
    numbers = {0: -1, 1: 0, **{place: number for number, place in enumerate(positive, 1)}}
    return {word: numbers[place] for word, place in places.items() if place is not None}


def converted(source: Source, head: Head, kind: Kind, limits: Limits, asked: Asked) -> Converted | None:
    """The file as lines of the usual form; None where it has no convertible form."""
    start = head.block.lstrip()[:1]
    if start in (b"{", b"["):
        return _json_lines(source, head, kind, limits, asked) or _json(source, kind, limits, asked)
    if kind == "qrels" and all(_LETOR.fullmatch(line) for line in head.lines):
        return _letor(source, limits, asked)
    columns = _columns(head, kind, asked)
    return None if columns is None else _table(source, columns, kind, limits, asked)


@dataclass(frozen=True)
class _Columns:
    """The roles of a table's columns, their separator, and whether the first line is a heading."""

    roles: tuple[str, ...]
    separator: bytes | None
    heading: bool
    has_nbsp: bool = False
    queries: bool = False
    """Whether topics are named by the text of their query, as Quepid does."""

    def parted(self, line: bytes) -> list[bytes]:
        if self.separator is None:
            return line.replace(NBSP, b" ").split() if NBSP in line and self.has_nbsp else line.split()
        if self.queries:
            text, separator = line.decode("utf-8", "surrogateescape"), self.separator.decode()
            cells = next(csv.reader([text], delimiter=separator), [])
            return [cell.strip().encode("utf-8", "surrogateescape") for cell in cells]
        return [part.strip().strip(b'"') for part in line.split(self.separator)]


def _columns(head: Head, kind: Kind, asked: Asked) -> _Columns | None:
    for separator in (b"\t", b",", b";", None):
        if separator is not None and head.lines[0].find(separator) < 0:
            continue
        plain = _Columns((), separator, heading=False)
        rows = [plain.parted(line) for line in head.lines]
        if separator is not None and _names_queries(rows[0], kind):
            named = tuple(role_of(name, kind) for name in rows[0])
            return _Columns(named, separator, heading=True, queries=True)
        if len({len(row) for row in rows}) > 1 or len(rows[0]) < 2:
            continue
        named = tuple(role_of(name, kind) for name in rows[0])
        if asked.columns and len(asked.columns) == len(rows[0]):
            return _Columns(asked.columns, separator, _is_heading(named, rows, kind))
        if _is_heading(named, rows, kind):
            return _Columns(named, separator, heading=True)
        roles = (_of_run if kind == "run" else _of_qrels)(rows, asked)
        if roles:
            return _Columns(roles, separator, heading=False)
    has_nbsp = any(NBSP in line for line in head.lines)
    if kind == "run" and has_nbsp and all(len(line.replace(NBSP, b" ").split()) == 6 for line in head.lines):
        roles = ("topic", "iteration", "docno", "rank", "score", "tag")
        return _Columns(roles, None, heading=False, has_nbsp=True)
    return None


def _names_queries(heading: list[bytes], kind: Kind) -> bool:
    """Whether a heading names topics by the text of their query: in such a file cells may be quoted."""
    named = tuple(role_of(name, kind) for name in heading)
    return kind == "qrels" and b"query" in map(bytes.lower, heading) and _is_heading(named, [], kind)


def fits(head: Head, kind: Kind) -> bool:
    """Whether the lines are a table that is read as a run or judgments, each cell one word."""
    columns = _columns(head, kind, forms.USUAL) if head.lines else None
    return columns is not None and all(
        len(cell.split()) == 1 for line in head.lines for cell in columns.parted(line)
    )


def _is_heading(named: tuple[str, ...], rows: list[list[bytes]], kind: Kind) -> bool:
    if "topic" not in named or "docno" not in named:
        return False
    roles = ("score", "rank") if kind == "run" else ("grade",)
    return any(role in named for role in roles) and len(set(filter(None, named))) == len(
        list(filter(None, named))
    )


def _of_run(rows: list[list[bytes]], asked: Asked) -> tuple[str, ...] | None:
    """The column roles of a run without a heading."""
    second = all(row[1] in (b"Q0", b"q0", b"0") for row in rows)
    numbers = [all(is_number(row[place]) for row in rows) for place in range(len(rows[0]))]
    whole = [all(row[place].isdigit() for row in rows) for place in range(len(rows[0]))]
    match len(rows[0]):
        case 3 if whole[2]:
            return ("topic", "docno", "rank")
        case 3 if numbers[2]:
            return ("topic", "docno", "score")
        case 4 if forms.looks_ranked([b" ".join(row) for row in rows]):
            return ("topic", "iteration", "docno", "rank")
        case 4 if second and numbers[3] and not whole[3]:
            return ("topic", "iteration", "docno", "score")
        case 4 if not second and whole[2] and numbers[3]:
            return ("topic", "docno", "rank", "score")
        case 4 if not second and numbers[2]:
            return ("topic", "docno", "score", "tag")
        case 5 if second and whole[3] and numbers[4]:
            return ("topic", "iteration", "docno", "rank", "score")
        case 5 if not second and whole[2] and numbers[3]:
            return ("topic", "docno", "rank", "score", "tag")
        case 6 if numbers[4]:
            return ("topic", "iteration", "docno", "rank", "score", "tag")
        case _:
            return None


def _of_qrels(rows: list[list[bytes]], asked: Asked) -> tuple[str, ...] | None:
    """The column roles of judgments without a heading."""
    last = [row[-1] for row in rows]
    match len(rows[0]):
        case 2 if asked.grade is not None:
            return ("topic", "docno")
        case 3 if _are_grades(last, asked):
            return ("topic", "docno", "grade")
        case 4 if _are_grades(last, asked, [row[1] for row in rows]) and not forms.looks_ranked(
            [b" ".join(row) for row in rows], forms.RANK_NOT_GRADE
        ):
            return ("topic", "iteration", "docno", "grade")
        case 5:
            return _five(rows)
        case 6 if all(is_grade(row[3]) and _PROBABILITY.fullmatch(row[5]) for row in rows):
            numbered = all(is_number(row[4]) for row in rows)
            if not numbered or all(row[1] == b"0" for row in rows):
                return ("topic", "iteration", "docno", "grade", "-", "probability")
    return None


def _five(rows: list[list[bytes]]) -> tuple[str, ...] | None:
    """Judgments of a sample: NIST's prels, or a probability or a stratum after the grade."""
    chances = all(_PROBABILITY.fullmatch(row[4]) for row in rows)
    methods = all(is_whole(row[2]) and row[3] in (b"0", b"1", b"2") for row in rows)
    if chances and methods and not all(row[1] in (b"0", b"Q0") for row in rows):
        return ("topic", "docno", "grade", "-", "probability")
    if chances and any(b"." in row[4] for row in rows) and all(is_grade(row[3]) for row in rows):
        return ("topic", "iteration", "docno", "grade", "probability")
    if all(is_whole(row[3]) and is_grade(row[4]) for row in rows):
        # Of sampled pools the column of grades has -1, what was not drawn; a stratum has none.
        if any(row[4].startswith(b"-") for row in rows):
            return ("topic", "iteration", "docno", "-", "grade")
        if any(row[3].startswith(b"-") for row in rows) or not all(is_grade(row[4]) for row in rows):
            return ("topic", "iteration", "docno", "grade", "-")
        return None
    return ("topic", "iteration", "docno", "grade", "-") if all(is_grade(row[3]) for row in rows) else None


def _are_grades(texts: list[bytes], asked: Asked, second: Iterable[bytes] = ()) -> bool:
    words = [text for text in texts if not _Grades._plain(text)]
    if all(text in asked.words for text in words) or proposed(words) is not None:
        return True
    # Unknown words are grades behind a second column of zeros, or where few come again and again.
    is_repeated = len(set(words)) < len(words) / 2
    return len(set(words)) <= MOST_WORDS and (is_repeated or {*second} in ({b"0"}, {b"Q0"}))


MOST_WORDS = 8


def _table(source: Source, columns: _Columns, kind: Kind, limits: Limits, asked: Asked) -> Converted:
    grades, names = _Grades(asked), columns.roles
    places = {role: place for place, role in enumerate(names) if role not in ("", "-")}
    rows = partial(_rows, source, columns, limits, kind, asked.dialect)
    if kind == "qrels" and "grade" in places:
        firsts: dict[bytes, int] = {}
        for number, row in rows():
            if len(row) > 1:
                firsts.setdefault(row[places["grade"]], number)
        grades.settle(firsts)

    def lines() -> Iterator[bytes]:
        grades.decimals.clear()
        yield from _spaced((number, _line(row, places, kind, grades, asked)) for number, row in rows())

    is_guess = kind == "qrels" and len(names) > 4 and not (columns.heading or asked.columns)
    notes = _column_notes(columns, kind, asked)
    return Converted(lines, kind, notes, grades, tagged="tag" in places, columns=names if is_guess else ())


def _spaced(numbered: Iterable[tuple[int, bytes]]) -> Iterator[bytes]:
    """The lines, each where it was in the file."""
    at = 0
    for number, line in numbered:
        yield b"\n" * (number - at - 1) + line + b"\n"
        at = number


def _rows(
    source: Source, columns: _Columns, limits: Limits, kind: Kind, dialect: int
) -> Iterator[tuple[int, list[bytes]]]:
    """The fields of every line but the heading, with its number; raises Invalid for others.

    A comment is one field: the reader counts it.
    """
    problems, width, heading = Problems(forms.NAMES[kind]), len(columns.roles), columns.heading
    for number, line in raw_lines(source, limits):
        row = columns.parted(line)
        if line.startswith(b"#") and not (dialect == 9 and len(row) == width and len(row[0]) > 1):
            yield number, [line]
            continue
        if not line.strip():
            continue
        if heading:
            heading = False
            continue
        if len(row) != width:
            rule = f"This file has {width} columns ({_names(columns.roles)}); this line has {len(row)}."
            problems.add(Problem(rule, "Write the line like the others.", number, "", shown(line)))
            continue
        if columns.queries:
            row[columns.roles.index("topic")] = _as_topic(row[columns.roles.index("topic")])
        for name, value in zip(columns.roles, row, strict=True):
            if name in ("topic", "docno") and len(value.split()) != 1:
                rule = f"A {name} is one word."
                problems.add(Problem(rule, "Check the columns.", number, name, shown(value)))
        if not problems.found:
            yield number, row
    problems.stop()


def as_topic(query: str) -> str:
    """The text of a query as a topic id, which is one word.

    >>> as_topic(" red  dress")
    'red_dress'
    """
    return "_".join(query.split())


def _as_topic(query: bytes) -> bytes:
    return as_topic(query.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")


def _line(row: list[bytes], places: dict[str, int], kind: Kind, grades: _Grades, asked: Asked) -> bytes:
    if len(row) == 1:
        return row[0]
    topic, docno = row[places["topic"]], row[places["docno"]]
    if kind == "qrels":
        second = row[places["iteration"]] if "iteration" in places else b"0"
        grade = b"%d" % asked.grade if "grade" not in places and asked.grade is not None else b""
        return b" ".join((topic, second or b"0", docno, grade or grades.of(row[places["grade"]])))
    rank = row[places["rank"]] if "rank" in places else b"0"
    score = row[places["score"]] if "score" in places else b"-" + rank
    tag = row[places["tag"]] if "tag" in places else TAG
    return b" ".join((topic, b"Q0", docno, rank, score, b"_".join(tag.split()) or TAG))


def _names(roles: tuple[str, ...]) -> str:
    return " ".join(role or "-" for role in roles)


def _column_notes(columns: _Columns, kind: Kind, asked: Asked) -> tuple[Problem, ...]:
    if columns.has_nbsp:
        rule = "The columns are separated by no-break spaces (U+00A0)."
        return (Problem(rule, "They were read as blanks; trec_eval refuses them."),)
    if columns.separator is None and columns.roles == ("topic", "iteration", "docno", "grade"):
        return ()
    separated = {b"\t": "tabs", b",": "commas", b";": "semicolons", None: "blanks"}[columns.separator]
    rule = f"The columns were read as {_names(columns.roles)}, separated by {separated}."
    remarks = []
    if columns.heading:
        remarks.append("The first line is a heading and was skipped.")
    if kind == "run" and "score" not in columns.roles:
        remarks.append("The negative rank was used as the score.")
    if columns.queries:
        remarks.append(QUERIES)
    if "probability" in columns.roles or (kind == "qrels" and len(columns.roles) > 4):
        remarks.append(SAMPLED)
    if kind == "qrels" and "grade" not in columns.roles:
        remarks.append(f"Every document has grade {asked.grade}.")
    if kind == "qrels":
        remarks.append("If this is wrong, set map columns=topic,iteration,docno,grade (--map).")
    return (Problem(rule, " ".join(remarks)),)


SAMPLED = (
    "Strata and inclusion probabilities are not used: the judgments are scored as plain ones. Where "
    "documents that were not drawn have grade -1, infAP estimates AP from the sample."
)


def _letor(source: Source, limits: Limits, asked: Asked) -> Converted:
    def lines() -> Iterator[tuple[int, bytes]]:
        problems = Problems("qrels file")
        for number, line in raw_lines(source, limits):
            if not line.strip():
                continue
            if line.startswith(b"#"):
                yield number, line
                continue
            match = _LETOR.fullmatch(line)
            comment = (match[4] or b"") if match else b""
            docid = _DOCID.match(comment)
            docno = docid[1] if docid else next(iter(comment.split()), b"")
            if match is None or not docno:
                rule = "A line of LETOR or RankLib judgments is `grade qid:TOPIC features # docno`."
                problems.add(Problem(rule, "Write the docno after the `#`.", number, "", shown(line)))
            elif not problems.found:
                yield number, b" ".join((match[2], b"0", docno, match[1]))
        problems.stop()

    rule = "These are LETOR or RankLib judgments: grade, qid:topic, features, # docno."
    notes = (Problem(rule, "The features were skipped."),)
    return Converted(lambda: _spaced(lines()), "qrels", notes, _Grades(asked))


def _json_lines(source: Source, head: Head, kind: Kind, limits: Limits, asked: Asked) -> Converted | None:
    """JSON objects, one per line, whose keys are named as columns."""
    try:
        records = [json.loads(line) for line in head.lines]
    except (ValueError, RecursionError):
        return None
    if not records or not all(isinstance(record, dict) for record in records):
        return None
    named = {key: role for key in records[0] if (role := role_of(str(key).encode(), kind))}
    if not _is_heading(tuple(named.values()), [], kind) or any(
        isinstance(record.get(key), dict | list | None) for record in records for key in named
    ):
        return None
    grades = _Grades(asked)
    places = {role: place for place, role in enumerate(named.values())}

    def rows() -> Iterator[tuple[int, list[bytes]]]:
        problems = Problems(forms.NAMES[kind])
        for number, line in raw_lines(source, limits):
            if not line.strip():
                continue
            try:
                record = json.loads(line)
                row = [_text(record[key]) for key in named]
            except (ValueError, KeyError, TypeError, RecursionError):
                rule = f"A line is a JSON object with {', '.join(named)}."
                problems.add(Problem(rule, "Write the line like the others.", number, "", shown(line)))
                continue
            for role in ("topic", "docno"):
                if len(row[places[role]].split()) != 1:
                    rule = f"A {role} is one word."
                    problems.add(Problem(rule, "Check the value.", number, role, shown(row[places[role]])))
            if not problems.found:
                yield number, row
        problems.stop()

    if kind == "qrels":
        firsts: dict[bytes, int] = {}
        for number, row in rows():
            firsts.setdefault(row[places["grade"]], number)
        grades.settle(firsts)

    def lines() -> Iterator[bytes]:
        grades.decimals.clear()
        yield from _spaced((number, _line(row, places, kind, grades, asked)) for number, row in rows())

    read = ", ".join(f"{key}: {role}" for key, role in named.items())
    rule = f"These are JSON lines; their fields were read as {read}."
    return Converted(lines, kind, (Problem(rule),), grades, tagged="tag" in places)


def _text(value: object) -> bytes:
    if isinstance(value, bool) or value is None:
        raise ValueError
    return (value if isinstance(value, str) else repr(value)).strip().encode("utf-8", "surrogatepass")


Pairs = list[tuple[str, Any]]


class _Object(Pairs):
    """The pairs of a JSON object, repeated keys included."""


def _json(source: Source, kind: Kind, limits: Limits, asked: Asked) -> Converted | None:
    """A JSON dictionary: topic -> docno -> score or grade; or topic -> list of docnos."""
    whole = bytearray()
    most = min(MOST_JSON, limits.buffer_bytes or MOST_JSON)
    for block in plain_blocks(source, limits):
        whole += block
        if len(whole) > most:
            if limits.buffer_bytes is not None:
                raise TooSlow
            raise TooLarge(f"The JSON file is larger than {MOST_JSON // 2**20} MiB. Write it as lines.")
    try:
        text = whole.decode("utf-8-sig")
        loaded = json.loads(text, object_pairs_hook=_Object)
    except json.JSONDecodeError as error:
        if error.msg == "Extra data":
            # One value per line, of another kind.
            return None
        problem = not_json(error, text).problem(None)
        raise Invalid(f"The {forms.NAMES[kind]} cannot be read: {problem}", [problem]) from error
    except (ValueError, RecursionError):
        return None
    lists = _judgment_lists(loaded) if kind == "qrels" else None
    topics = lists or _dictionary(loaded, kind, asked)
    if topics is None:
        return None
    entries = list(_entries(topics, kind))
    grades = _Grades(asked)
    if kind == "qrels":
        grades.settle({value: 0 for _, _, _, value in entries if value})
    constant = b"" if asked.grade is None else b"%d" % asked.grade

    def lines() -> Iterator[bytes]:
        grades.decimals.clear()
        for topic, docno, place, value in entries:
            if kind == "qrels":
                yield b" ".join((topic, b"0", docno, grades.of(value) if value else constant)) + b"\n"
            else:
                yield b" ".join((topic, b"Q0", docno, b"%d" % place, value or b"%d" % -place, TAG)) + b"\n"

    what = "score" if kind == "run" else "grade"
    rule = f"This is a JSON dictionary: topic, docno and {what}."
    notes = (Problem(rule, "Lists were read with the best document first." if not entries[0][3] else ""),)
    if lists is not None:
        notes = (Problem(f"This is a judgment list of OpenSearch. {QUERIES}"),)
    return Converted(lines, kind, notes, grades, numbered=False, tagged=False)


def _judgment_lists(loaded: object) -> Pairs | None:
    """The ratings of a judgment list of OpenSearch as topic -> docno -> grade; None for another value."""
    queries = dict(loaded).get("judgmentRatings") if isinstance(loaded, _Object) else None
    if not isinstance(queries, list) or not all(isinstance(each, _Object) for each in queries):
        return None
    topics: Pairs = []
    for each in map(dict, queries):
        ratings = each.get("ratings")
        if not isinstance(each.get("query"), str) or not isinstance(ratings, list) or not ratings:
            return None
        pairs = [dict(rating) for rating in ratings if isinstance(rating, _Object)]
        cells = [(str(rating.get("docId", "")), rating.get("rating")) for rating in pairs]
        is_rating = all(
            isinstance(cell, int | float | str) and not isinstance(cell, bool) for _, cell in cells
        )
        if len(cells) < len(ratings) or not is_rating:
            return None
        topics.append((as_topic(each["query"]), _Object(cells)))
    return topics or None


def _dictionary(loaded: object, kind: Kind, asked: Asked) -> Pairs | None:
    if not isinstance(loaded, _Object) or not loaded:
        return None
    values = [value for _, value in loaded]
    if all(isinstance(value, _Object) for value in values):
        inner = [cell for value in values for _, cell in value]
        taken = int | float | str if kind == "qrels" else int | float
        if inner and all(isinstance(cell, taken) and not isinstance(cell, bool) for cell in inner):
            return loaded
    is_list = all(isinstance(value, list) and not isinstance(value, _Object) for value in values)
    if is_list and any(values) and all(isinstance(docno, str) for value in values for docno in value):
        return loaded if kind == "run" or asked.grade is not None else None
    return None


def _entries(topics: Pairs, kind: Kind) -> Iterator[tuple[bytes, bytes, int, bytes]]:
    """Topic, docno, place and value of each entry; of a list the value is empty. Places are by score."""
    problems = Problems(forms.NAMES[kind])
    for topic, documents in topics:
        pairs = documents if isinstance(documents, _Object) else [(docno, "") for docno in documents]
        for place, (docno, value) in enumerate(pairs, 1):
            for name, text in (("topic", topic), ("docno", docno)):
                if len(text.split()) != 1:
                    rule = f"A {name} is one word; topic {shown(topic)} has another."
                    problems.add(Problem(rule, "Write it without blanks.", None, name, shown(text)))
            yield (
                topic.encode("utf-8", "surrogatepass"),
                docno.encode("utf-8", "surrogatepass"),
                place,
                _text(value),
            )
    problems.stop()
