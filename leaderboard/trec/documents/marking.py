"""A topic's words in a text: which to mark, and the piece of the text that has most of them.

Words are compared in lower case and without plural endings. Writing without spaces between words is
compared by pairs of neighbouring characters (Chinese, Japanese, Korean) or by whole phrases.
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from itertools import groupby, pairwise
from typing import NamedTuple

STOP_WORDS = frozenset({
    "a", "about", "am", "an", "and", "any", "are", "as", "at", "be", "been", "but", "by", "can", "did",
    "do", "does", "for", "from", "had", "has", "have", "how", "i", "if", "in", "into", "is", "it",
    "its", "me", "my", "no", "not", "of", "on", "or", "our", "s", "should", "so", "such", "t", "than",
    "that", "the", "their", "them", "then", "there", "these", "they", "this", "those", "to", "was",
    "we", "were", "what", "when", "where", "which", "who", "whom", "whose", "why", "will", "with",
    "would", "you", "your",
})  # fmt: skip
SNIPPET = 240
BEFORE = 3
"""A snippet shows up to one part in three of its room before the first term."""
ELLIPSIS = "…"
MOST_MARKS = 8
"""Marks on one letter that a cut keeps with it; no writing has more."""

_PAIRED = re.compile(
    "[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]"
)
"""Characters of scripts that are compared by pairs: Japanese kana, Chinese characters, Korean syllables."""
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]")
"""Characters of other scripts without spaces between words: Thai, Lao, Burmese, Khmer."""
_HIRAGANA = re.compile("[\u3040-\u309f]+")


class Piece(NamedTuple):
    """A part of a text, and whether it is a word of the topic."""

    text: str
    is_term: bool


class _Match(NamedTuple):
    start: int
    end: int
    term: str


def terms(*texts: str) -> frozenset[str]:
    """The words of a topic's title and description to mark, stemmed by `stem`.

    Stop words are left out, unless there is nothing else. Of Chinese, Japanese and Korean these are the
    pairs of neighbouring characters, without those of hiragana alone, which are endings.

    >>> sorted(terms("The cats of Berlin", "Where do cats sleep?"))
    ['berlin', 'cat', 'sleep']
    >>> sorted(terms("機械学習"))
    ['学習', '械学', '機械']
    >>> sorted(terms("To be or not to be"))
    ['be', 'not', 'or', 'to']
    """
    words = [word for text in texts for word in _words(_lowered(text))]
    telling = [word for word in words if word not in STOP_WORDS]
    return frozenset(term for word in telling or words for term in _terms_of(word))


def stem(word: str) -> str:
    """A word in lower case without its plural ending.

    Source: Harman, How Effective Is Suffixing?, JASIS 42(1), 1991: the S stemmer.

    >>> [stem(word) for word in ("queries", "horses", "cats", "virus", "glass", "trees")]
    ['query', 'horse', 'cat', 'virus', 'glass', 'tree']
    """
    if len(word) < 3 or not word.endswith("s"):
        return word
    if word.endswith("ies") and not word.endswith(("eies", "aies")):
        return word[:-3] + "y"
    if word.endswith("es") and not word.endswith(("aes", "ees", "oes")):
        return word[:-1]
    return word if word.endswith(("us", "ss")) else word[:-1]


def marked(text: str, topic_terms: frozenset[str]) -> tuple[Piece, ...]:
    """The text in pieces, those that are words of the topic marked; joined they are the text.

    >>> marked("A cat and Cats.", terms("cats"))[1:4]
    (Piece(text='cat', is_term=True), Piece(text=' and ', is_term=False), Piece(text='Cats', is_term=True))
    """
    pieces, end = [], 0
    for start, stop in _joined(_matches(text, topic_terms)):
        if start > end:
            pieces.append(Piece(text[end:start], False))
        pieces.append(Piece(text[start:stop], True))
        end = stop
    if end < len(text):
        pieces.append(Piece(text[end:], False))
    return tuple(pieces)


def snippet(text: str, topic_terms: frozenset[str], length: int = SNIPPET) -> tuple[Piece, ...]:
    """The part of a text with most different words of the topic, in about `length` characters, marked.

    The first such part; the beginning if none has any. Cut between words where there are spaces,
    with an ellipsis at either end that is not the text's own; runs of white space are one space.

    >>> pieces = snippet("Much else comes first. Then a cat chases a dog.", terms("cat, dog"), 26)
    >>> "".join(piece.text for piece in pieces)
    '… Then a cat chases a dog.'
    """
    if len(text) <= length:
        return marked(" ".join(text.split()), topic_terms)
    start, end = _window(text, _matches(text, topic_terms), length)
    shown = " ".join(text[start:end].split())
    if len(shown) < length // 2 and len(flat := " ".join(text.split())) < len(text):
        return snippet(flat, topic_terms, length)
    before, after = text[:start].strip() != "", text[end:].strip() != ""
    return (
        *((Piece(f"{ELLIPSIS} ", False),) if before else ()),
        *marked(shown, topic_terms),
        *((Piece(f" {ELLIPSIS}", False),) if after else ()),
    )


def _lowered(text: str) -> str:
    """The text in lower case, character by character where some letter would become two."""
    lower = text.lower()
    if len(lower) == len(text):
        return lower
    return "".join(letter if len(letter.lower()) > 1 else letter.lower() for letter in text)


@lru_cache(maxsize=4096)
def _in_word(letter: str) -> bool:
    """Whether a character belongs to a word with spaces around it."""
    is_letter = letter.isalnum() or unicodedata.category(letter).startswith("M")
    return is_letter and not _PAIRED.match(letter)


@lru_cache(maxsize=1024)
def _is_unspaced(term: str) -> bool:
    return bool(_PAIRED.match(term) or _UNSPACED.match(term))


def _words(text: str) -> Iterator[str]:
    """Runs of letters, digits and marks, cut where the way to compare them changes."""
    for (spaced, paired), letters in groupby(
        text, key=lambda letter: (_in_word(letter), bool(_PAIRED.match(letter)))
    ):
        if spaced or paired:
            yield "".join(letters)


def _terms_of(word: str) -> Iterator[str]:
    if not _PAIRED.match(word):
        yield stem(word)
    elif len(word) == 1:
        yield word
    else:
        pairs = ["".join(pair) for pair in pairwise(word)]
        yield from [pair for pair in pairs if not _HIRAGANA.fullmatch(pair)] or pairs


def _matches(text: str, topic_terms: frozenset[str]) -> list[_Match]:
    """Matches of the topic's words in the text, in order."""
    lower, matches = _lowered(text), []
    for term in topic_terms:
        matches += _of_term(lower, term)
    return sorted(matches)


def _of_term(lower: str, term: str) -> list[_Match]:
    """Matches of one term: anywhere in scripts without spaces, else as a whole word with the term's stem."""
    if _is_unspaced(term):
        return [_Match(hit.start(), hit.end(), term) for hit in re.finditer(re.escape(term), lower)]
    # A plural in -ies has the stem's letters but its last.
    beginning = term[:-1] if term.endswith("y") and len(term) > 1 else term
    matches, end, place = [], 0, lower.find(beginning)
    while place >= 0:
        end = place + len(beginning)
        if place == 0 or not _in_word(lower[place - 1]):
            while end < len(lower) and _in_word(lower[end]):
                end += 1
            if stem(lower[place:end]) == term:
                matches.append(_Match(place, end, term))
        place = lower.find(beginning, end)
    return matches


def _joined(matches: list[_Match]) -> Iterator[tuple[int, int]]:
    """Start and end of what matches cover, overlapping and touching ones as one."""
    start = end = -1
    for match in matches:
        if match.start > end:
            if end >= 0:
                yield start, end
            start = match.start
        end = max(end, match.end)
    if end >= 0:
        yield start, end


def _window(text: str, matches: list[_Match], length: int) -> tuple[int, int]:
    """Start and end of the snippet."""
    first, last = _densest(matches, length)
    room = max(length - (last - first), 0)
    start = max(0, min(first - room // BEFORE, len(text) - length))
    end = min(len(text), start + length)
    if start > 0 and not text[start - 1].isspace():
        start = next((at for at in range(start, first) if text[at].isspace()), _at_letter(text, start))
    if end < len(text) and not text[end].isspace():
        end = next((at for at in range(end, last, -1) if text[at].isspace()), _at_letter(text, end))
    return start, end


def _at_letter(text: str, place: int) -> int:
    """The place, or where the next letter begins if marks that belong to a letter before it are there."""
    last = min(place + MOST_MARKS, len(text))
    while place < last and unicodedata.category(text[place]).startswith("M"):
        place += 1
    return place


def _densest(matches: list[_Match], length: int) -> tuple[int, int]:
    """The first stretch of at most `length` characters with most different terms; (0, 0) without any."""
    best, most, place = (0, 0), 0, 0
    inside: dict[str, int] = {}
    for start, end, term in matches:
        inside[term] = inside.get(term, 0) + 1
        while end - matches[place].start > length and matches[place].start < start:
            leaving = matches[place].term
            inside[leaving] -= 1
            if not inside[leaving]:
                del inside[leaving]
            place += 1
        if len(inside) > most:
            best, most = (matches[place].start, end), len(inside)
    return best
