"""Words of a topic in a text: which are found, and which part of the text is shown."""

from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaderboard.trec.documents.marking import ELLIPSIS, MOST_MARKS, Piece, marked, snippet, stem, terms

writing = st.text(st.sampled_from("abs yi\n.,-İΣß́日本語のに한กี"), max_size=80)


def found(text: str, title: str) -> list[str]:
    """The marked parts of a text."""
    return [piece.text for piece in marked(text, terms(title)) if piece.is_term]


def shown(pieces: tuple[Piece, ...]) -> str:
    """The text of pieces, marked ones in brackets."""
    return "".join(f"[{piece.text}]" if piece.is_term else piece.text for piece in pieces)


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("queries", "query"),
        ("movies", "movy"),
        ("aies", "aie"),
        ("horses", "horse"),
        ("trees", "tree"),
        ("shoes", "shoe"),
        ("cats", "cat"),
        ("virus", "virus"),
        ("glass", "glass"),
        ("is", "is"),
        ("s", "s"),
        ("cat", "cat"),
        ("", ""),
    ],
)
def test_plurals_lose_their_ending(word: str, expected: str) -> None:
    """Rule by rule of the S stemmer; a word of two letters stays."""
    assert stem(word) == expected


@pytest.mark.parametrize(
    ("text", "title", "expected"),
    [
        ("The cat, cats and CATS; not catalogue or scat.", "Cats", ["cat", "cats", "CATS"]),
        ("Foreign policies; a policy, policed.", "policy", ["policies", "policy"]),
        ("C-reactive protein (CRP)", "protein crp", ["protein", "CRP"]),
        ("state-of-the-art", "art", ["art"]),
        ("İstanbul: İSTANBUL, istanbul cats", "cats", ["cats"]),
        ("Straße und STRASSE", "straße", ["Straße"]),
        ("Ελλάς, ΟΔΟΣ", "οδος", ["ΟΔΟΣ"]),
        ("हिन्दी में हिन्द", "हिन्दी", ["हिन्दी"]),
        ("covid-19 and covid19", "covid 19", ["covid", "19"]),
        ("機械学習の基礎、械の", "機械学習", ["機械学習"]),
        ("日本cat日本", "cat", ["cat"]),
        ("고양이는 귀엽다", "고양이", ["고양이"]),
        ("ภาษาไทยง่าย", "ภาษาไทย", ["ภาษาไทย"]),
        ("nothing here", "elsewhere", []),
        ("", "cat", []),
        ("to be, or not to be", "to be or not to be", ["to", "be", "or", "not", "to", "be"]),
    ],
)
def test_words_are_found_in_any_writing(text: str, title: str, expected: list[str]) -> None:
    """Whole words where there are spaces, pairs of characters or phrases where there are none."""
    assert found(text, title) == expected


def test_stop_words_are_not_looked_for() -> None:
    """Nor is anything of an empty topic; what is looked for comes from all its texts."""
    assert terms("What is the capital of it?", "Who moved the capitals?") == {"capital", "moved"}
    assert terms("", "?!") == frozenset()
    assert terms("の") == {"の"}


@given(writing, writing)
def test_pieces_are_the_text(text: str, title: str) -> None:
    """Joined they are every character of it, and none is empty."""
    pieces = marked(text, terms(title))
    assert "".join(piece.text for piece in pieces) == text
    assert all(piece.text for piece in pieces)


@given(writing, writing, st.integers(5, 40))
def test_snippets_are_a_part_of_the_text_and_not_too_long(text: str, title: str, length: int) -> None:
    """But for white space and the ellipses."""
    joined = "".join(piece.text for piece in snippet(text, terms(title), length))
    inner = joined.removeprefix(f"{ELLIPSIS} ").removesuffix(f" {ELLIPSIS}")
    assert inner in " ".join(text.split())
    assert len(inner) <= length + MOST_MARKS


WORDS = " ".join(f"word{number}" for number in range(100))


@pytest.mark.parametrize(
    ("text", "title", "length", "expected"),
    [
        ("short  text\n with cats", "cat", 40, "short text with [cats]"),
        (f"{WORDS} cat", "nothing", 20, "word0 word1 word2 …"),
        (f"{WORDS} a cat and a dog {WORDS}", "cat dog", 30, "… a [cat] and a [dog] word0 word1 …"),
        (f"cat {WORDS} cat dog {WORDS} dog", "cat dog", 24, "… [cat] [dog] word0 word1 …"),
        (f"{WORDS} the end of cats", "cat", 20, "… the end of [cats]"),
        ("x" * 50, "cat", 10, "xxxxxxxxxx …"),
        ("前文" * 20 + "機械学習" + "後文" * 20, "機械学習", 10, "… 前文[機械学習]後文後文 …"),
        (f"cat{' ' * 500}{WORDS}", "cat", 30, "[cat] word0 word1 word2 word3 …"),
    ],
)
def test_the_part_with_most_different_words_is_shown(
    text: str, title: str, length: int, expected: str
) -> None:
    """Cut between words, with an ellipsis where the text goes on."""
    assert shown(snippet(text, terms(title), length)) == expected


def test_markup_stays_text() -> None:
    """What a page has to escape is in the pieces as it was."""
    assert shown(marked("<b>cat</b>", terms("cat"))) == "<b>[cat]</b>"


@pytest.mark.parametrize("mark", [marked, partial(snippet, length=240)])
def test_repeated_beginnings_of_a_word_end(mark: object) -> None:
    """A text that nearly matches everywhere is read once."""
    assert callable(mark)
    pieces = mark("catcat" * 20000 + " cat", terms("cat"))
    assert [piece.text for piece in pieces if piece.is_term] == ["cat"]
