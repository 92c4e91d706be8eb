"""The two kernels: every number correctly rounded, every order and match right, and the same from both."""

import importlib.util
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from fractions import Fraction
from itertools import pairwise
from types import MappingProxyType, ModuleType

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import example, given
from hypothesis import strategies as st

from leaderboard.cli import main
from leaderboard.trec.read import kernel
from leaderboard.trec.read import native as choice
from leaderboard.trec.read.columns import Columns
from leaderboard.trec.read.kernel import SLACK, Parsed
from leaderboard.trec.runs.runs import Ranking, block_of

BUILT = kernel.native
needs_c = pytest.mark.skipif(BUILT is None, reason="the C kernel was not built")

ids = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=20)
numbers = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.decimals(allow_nan=False, allow_infinity=False, places=6, min_value=-999, max_value=999).map(str),
    st.from_regex(r"[+-]?(\d{1,25}\.?\d{0,25}|\.\d{1,25})([eE][+-]?\d{1,2})?", fullmatch=True).map(
        lambda text: "".join(character if character.isascii() else "7" for character in text)
    ),
)


@contextmanager
def without_c() -> Iterator[None]:
    """Numpy alone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernel, "native", None)
        yield


def columns_of(
    text: bytes, *, final: bool = True, fields: int = 6, strict: bool = True
) -> tuple[Parsed, Columns]:
    """What the kernel in use makes of whole lines."""
    room = Columns.with_room(len(text), len(text))
    body = bytearray(text + bytes(SLACK))
    parsed = kernel.columns(
        body, len(text), final=final, fields=fields, strict=strict, id_bytes=255, room=room
    )
    return parsed, room.cut(parsed.entries, parsed.groups)


@needs_c
@given(numbers)
@example("16777217")
@example("0.1234567890123456789")
@example("9007199254740993")
@example("12.345678901234567")
@example("1e-400")
@example("-0.0")
def test_scores_are_correctly_rounded(text: str) -> None:
    """Both kernels read a number as Python does, whose reading is the nearest double."""
    line = f"1 Q0 d 1 {text} t\n".encode()
    expected = np.float64(text).tobytes()
    parsed, columns = columns_of(line)
    assert bool(parsed.ok) == bool(np.isfinite(float(text)))
    if parsed.ok:
        assert columns.score.tobytes() == expected
        with without_c():
            assert columns_of(line)[1].score.tobytes() == expected


@needs_c
@given(st.integers(0, 2**64 - 1), st.integers(1, 19))
def test_digits_beyond_a_doubles_precision_round_to_even(mantissa: int, places: int) -> None:
    """Up to 19 digits are divided exactly: half-way cases go to the even neighbour."""
    digits = str(mantissa)[:19].rjust(places + 1, "0")
    text = f"{digits[:-places]}.{digits[-places:]}"
    line = f"1 Q0 d 1 {text} t\n".encode()
    score = columns_of(line)[1].score[0]
    error = abs(Fraction(text) - Fraction(float(score)))
    for other in (np.nextafter(score, np.inf), np.nextafter(score, -np.inf)):
        assert error <= abs(Fraction(text) - Fraction(float(other)))
    with without_c():
        assert columns_of(line)[1].score[0] == score == float(text)


@st.composite
def entries(draw: st.DrawFn) -> bytes:
    """A few topics' lines as most systems write them."""
    lines = []
    for topic in draw(st.lists(ids.filter(lambda name: name[0] != "#"), min_size=1, max_size=4, unique=True)):
        for rank, docno in enumerate(draw(st.lists(ids, min_size=1, max_size=30)), 1):
            score = draw(st.sampled_from(["1.0", "0.5", "-2", "3.25", "1e-3", "7"]))
            lines.append(f"{topic} Q0 {docno} {rank} {score} tag\n")
    return "".join(lines).encode()


def seen(text: bytes, parsed: Parsed, columns: Columns) -> tuple[object, ...]:
    """All that a kernel says of a block, its hashes included; of the last tag the text, not its place."""
    tag = text[parsed.tag_at : parsed.tag_at + parsed.tag_length]
    return (
        *parsed._replace(tag_at=0),
        tag,
        *(getattr(columns, name).tolist() for name in Columns.__dataclass_fields__),
    )


@needs_c
@given(entries(), st.booleans(), st.booleans())
def test_both_kernels_see_the_same_entries(text: bytes, final: bool, strict: bool) -> None:
    """Places, hashes, scores, groups, flags and what is left for the next block are equal."""
    native = seen(text, *columns_of(text, final=final, strict=strict))
    with without_c():
        assert seen(text, *columns_of(text, final=final, strict=strict)) == native


def long_block(odd: int) -> bytes:
    """20,000 entries of 20 topics, with ties; of every odd-th score Python has to read the digits."""
    rng = np.random.default_rng(11)
    lines = []
    for topic in range(20):
        for rank, docno in enumerate(rng.permutation(1000).tolist(), 1):
            score = "1.2345678901234567e-25" if rank % odd == 0 else f"{docno % 90}.5"
            lines.append(f"{topic} Q0 d{docno} {rank} {score} tag\n")
    return "".join(lines).encode()


@needs_c
@pytest.mark.parametrize("odd", [10_000, 7, 1])
def test_long_blocks_are_read_alike_by_several_threads(odd: int) -> None:
    """Without the interpreter's lock, or with it taken back for some numbers: all as with numpy."""
    text = long_block(odd)

    def worked(_: int) -> tuple[object, ...]:
        parsed, columns = columns_of(text)
        body = text + bytes(SLACK)
        length = columns.length[::3].copy()
        docnos = kernel.joined(body, columns.at, columns.length, np.arange(0, 20_000, 3, dtype=np.int32))
        starts = np.searchsorted(np.arange(0, 20_000, 3), np.arange(0, 20_001, 1000)).astype(np.int64)
        index = kernel.index(docnos, np.cumsum(length, dtype=np.int32) - length, length, starts)
        best, ties = kernel.order(body, columns, 9)
        hits = kernel.match(body, columns, best, np.arange(20, dtype=np.int32), index, 100)
        found = [part.tolist() for part in (best, ties, *hits)]
        return seen(text, parsed, columns), found, kernel.doubled(body, columns)

    with ThreadPoolExecutor(3) as pool:
        several = list(pool.map(worked, range(6)))
    with without_c():
        expected = worked(0)
    assert len(expected[1][2]) > 500
    assert all(one == expected for one in several)


@st.composite
def rankings(draw: st.DrawFn) -> list[Ranking]:
    """Some rankings with ties, in any order of scores."""
    drawn = []
    for topic in range(draw(st.integers(1, 4))):
        docnos = draw(st.lists(ids, min_size=1, max_size=40, unique=True))
        score = st.sampled_from([0.0, -0.0, 1.0, 16777216.0, 16777217.0, -3.5, 1e300, 2e300, 5e-324])
        scores = draw(st.lists(score, min_size=len(docnos), max_size=len(docnos)))
        if draw(st.booleans()):
            scores.sort(reverse=True)
        drawn.append(Ranking(str(topic), np.array(docnos, "S"), np.array(scores)))
    return drawn


@pytest.mark.parametrize("dialect", [9, 10])
@given(run=rankings())
def test_both_kernels_order_as_the_definition_says(dialect: int, run: list[Ranking]) -> None:
    """Score descending in the dialect's precision, then docno descending by bytes."""
    block = block_of(run)
    expected, ties = [], []
    start = 0
    for ranking in run:
        with np.errstate(over="ignore"):
            scores = ranking.scores.astype(np.float32 if dialect == 9 else np.float64).tolist()
        docnos = ranking.docnos.tolist()
        order = sorted(range(len(docnos)), key=lambda place: docnos[place], reverse=True)
        order = sorted(order, key=lambda place: -scores[place])
        expected += [start + place for place in order]
        ranked = [scores[place] for place in order]
        ties.append(sum(one == two for one, two in pairwise(ranked)))
        start += len(docnos)
    for native in (BUILT, None):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(kernel, "native", native)
            best, equal = kernel.order(block.body, block.columns, dialect)
            assert (best.tolist(), equal.tolist()) == (expected, ties)


def pool_of(ranking: Ranking) -> st.SearchStrategy[list[str]]:
    """Judged docnos in byte order: some of the ranking, some not."""
    docnos = st.one_of(ids, st.sampled_from(ranking.docnos.tolist()).map(bytes.decode))
    return st.sets(docnos, max_size=9).map(sorted)


@given(rankings(), st.data())
def test_both_kernels_find_the_judged_documents(run: list[Ranking], data: st.DataObject) -> None:
    """Every judged document of a ranking is hit at its rank, up to the depth, and no other."""
    pools = [data.draw(pool_of(ranking)) for ranking in run]
    docnos = [docno.encode() for pool in pools for docno in pool]
    length = np.array(list(map(len, docnos)), np.int32)
    starts = np.cumsum([0, *map(len, pools)])
    block, depth = block_of(run), data.draw(st.sampled_from([None, 1, 7]))
    place = np.array([topic if data.draw(st.booleans()) else -1 for topic in range(len(run))], np.int32)
    for native in (BUILT, None):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(kernel, "native", native)
            index = kernel.index(b"".join(docnos), np.cumsum(length, dtype=np.int32) - length, length, starts)
            hits = kernel.match(block.body, block.columns, block.best(10), place, index, depth)
            expected = [
                (topic, rank, starts[topic] + pools[topic].index(docno.decode()))
                for topic, ranking in enumerate(run)
                if place[topic] >= 0
                for rank, docno in enumerate(ranking.docnos[order_of(ranking)].tolist()[:depth], 1)
                if docno.decode() in pools[topic]
            ]
            assert list(zip(*(part.tolist() for part in hits), strict=True)) == expected


def order_of(ranking: Ranking) -> list[int]:
    """The places of a ranking's documents, best first."""
    return block_of([ranking]).best(10).tolist()


@given(rankings(), st.data())
def test_both_kernels_find_a_document_that_comes_twice(run: list[Ranking], data: st.DataObject) -> None:
    """The first topic that has a docno twice is named; the same docno in two topics is not a fault."""
    group = data.draw(st.integers(-1, len(run) - 1))
    if group >= 0:
        one = run[group]
        run[group] = Ranking(one.topic, np.append(one.docnos, one.docnos[:1]), np.append(one.scores, 1.0))
    block = block_of(run)
    for native in (BUILT, None):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(kernel, "native", native)
            assert kernel.doubled(block.body, block.columns) == group


@given(rankings(), st.sampled_from([b"", b"\t"]))
def test_both_kernels_join_docnos(run: list[Ranking], separator: bytes) -> None:
    """The docnos come in the order asked for, each with the separator behind it."""
    block = block_of(run)
    which = block.best(10)
    docnos = [block.docno(entry) for entry in which.tolist()]
    for native in (BUILT, None):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(kernel, "native", native)
            joined = kernel.joined(block.body, block.columns.at, block.columns.length, which, separator)
            assert joined == b"".join(docno + separator for docno in docnos)


@needs_c
def test_arrays_too_small_are_refused() -> None:
    """The C kernel never writes or reads beyond the arrays it is given."""
    line = b"1 Q0 d 1 1 t\n"
    small = Columns.with_room(0, 0)
    with pytest.raises(ValueError, match="too small"):
        kernel.columns(bytearray(line), len(line), final=True, fields=6, strict=True, id_bytes=9, room=small)
    parsed = kernel.columns(
        bytearray(line + bytes(SLACK)), len(line), final=True, fields=6, strict=True, id_bytes=9, room=small
    )
    assert not parsed.ok


def test_an_unknown_dialect_is_refused() -> None:
    """There are two dialects."""
    block = block_of([Ranking("1", np.array([b"a"]), np.array([1.0]))])
    with pytest.raises(ValueError, match="no dialect 8"):
        block.best(8)


@needs_c
@pytest.mark.parametrize("size", [2, 256, 257, 1000, 2048, 2049, 5000])
def test_a_document_that_comes_twice_is_found_in_rankings_of_any_length(size: int) -> None:
    """Near or far from each other; and none is found where all differ, however many share a bit."""
    docnos = np.array([f"{number:x}" for number in range(1, size)], "S8")
    for first, second in ((0, 1), (0, size - 1), (size - 2, size - 1), (size // 3, size // 2)):
        twice = np.insert(docnos, second, docnos[min(first, size - 2)])
        for found, letters in ((-1, docnos), (0, twice)):
            block = block_of([Ranking("1", letters, np.zeros(len(letters)))])
            assert kernel.doubled(block.body, block.columns) == found


documents_by_topic = st.lists(
    st.dictionaries(
        st.text(st.characters(codec="utf-8"), max_size=20),
        st.one_of(
            st.floats(allow_nan=False, allow_infinity=False), st.integers(-(2**60), 2**60), st.booleans()
        ),
        max_size=40,
    ),
    max_size=4,
)


@needs_c
@given(documents_by_topic)
def test_dictionaries_are_gathered_alike(topics: list[dict[str, float]]) -> None:
    """Letters, places, lengths, hashes and scores are those of numpy alone, and those of the dictionaries."""
    native = kernel.gathered(topics, 255)
    with without_c():
        plain = kernel.gathered(topics, 255)
    assert native is not None
    assert plain is not None
    assert native.letters == plain.letters
    for one, other in zip(native[1:], plain[1:], strict=True):
        assert np.array_equal(one, other)
    docnos = [docno.encode() for documents in topics for docno in documents]
    ends = (native.at + native.length).tolist()
    assert [native.letters[at:end] for at, end in zip(native.at.tolist(), ends, strict=True)] == docnos
    assert native.score.tolist() == [float(score) for each in topics for score in each.values()]


@needs_c
@pytest.mark.parametrize(
    "documents",
    [
        {"a": float("nan")},
        {"a": float("inf")},
        {"a": "1"},
        {1: 1.0},
        {b"a": 1.0},
        {"a": None},
        {"a" * 256: 1.0},
    ],
    ids=str,
)
def test_documents_that_break_a_rule_are_refused_by_both(documents: dict[str, float]) -> None:
    """Numbers that are not finite, ids that are no text or too long."""
    assert kernel.gathered([{"fine": 1.0}, documents], 255) is None
    with without_c():
        assert kernel.gathered([{"fine": 1.0}, documents], 255) is None


def test_documents_of_unusual_kinds_are_gathered() -> None:
    """Numbers of numpy, any mapping, and bytes that are not UTF-8 as escapes."""
    topics = [MappingProxyType({"a\udcff": np.float32(0.5), "b": np.int64(3)})]
    found = kernel.gathered(topics, 255)
    with without_c():
        plain = kernel.gathered(topics, 255)
    for each in (found, plain):
        assert each is not None
        assert (each.letters[:3], each.score.tolist()) == (b"a\xffb", [0.5, 3.0])


printed_values = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True),
    st.floats(0, 1),
    st.integers(0, 20_000).map(lambda value: value / 20_000),
    st.integers(0, 20_000).map(lambda value: (value + 0.5) / 10_000),
    st.integers(0, 10**9).map(float),
)


@given(st.lists(printed_values, min_size=1, max_size=30), st.sampled_from([0, 1, 2, 4, 6, 9]))
@example([0.00005, 0.00015, 0.12345, 0.5, 1e-320, -0.0, 1e300, 99999.99995], 4)
def test_numbers_are_printed_as_c_does(values: list[float], digits: int) -> None:
    """To the last digit, half-way cases too, by both kernels."""
    heads, topics = [b"name\t"], [b"t%d" % place for place in range(len(values))]
    form = f"%6.{digits}f" if digits else "%.0f"
    expected = "".join(f"name\tt{place}\t{form % value}\n" for place, value in enumerate(values))
    array, places = np.array([values]), np.array([digits], np.int32)
    assert kernel.printed(heads, topics, array, places, {}).decode() == expected
    with without_c():
        assert kernel.printed(heads, topics, array, places, {}).decode() == expected


@needs_c
def test_text_is_printed_in_place_of_numbers() -> None:
    """By line; names may hold signs of templates and any bytes."""
    given_ = ([b"100%\t", b"s\t"], [b"q\xff", b"r"], np.array([[0.5, 1], [0, 0]]), np.array([2, 0], np.int32))
    texts = {1: [b"'%s'", b""]}
    expected = b"100%\tq\xff\t  0.50\ns\tq\xff\t'%s'\n100%\tr\t  1.00\ns\tr\t\n"
    assert kernel.printed(*given_, texts) == expected
    with without_c():
        assert kernel.printed(*given_, texts) == expected
    assert kernel.printed([], [], np.empty((0, 0)), np.empty(0, np.int32), {}) == b""


def test_a_kernel_of_older_source_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """A checkout that moved on without a new build reads with numpy, and `--version` says why."""
    package = importlib.import_module("leaderboard.trec.read")
    monkeypatch.setitem(sys.modules, "leaderboard.trec.read._kernel", ModuleType("_kernel"))
    monkeypatch.setattr(package, "_kernel", ModuleType("_kernel"), raising=False)
    spec = importlib.util.spec_from_file_location("choice_again", choice.__file__)
    assert spec
    assert spec.loader
    again = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(again)
    assert (again.native, again.is_stale, again.name()) == (None, True, "numpy")
    monkeypatch.setattr(choice, "is_stale", True)
    assert "out of date, install again" in CliRunner().invoke(main, ["--version"]).output
