"""Markdown that people write: how much of it is used, so that showing it is quick."""

import re

CHARACTERS, LINES, MARKS = 50_000, 1_000, 4_000
MARKS_TOGETHER = 600
"""Of one paragraph: unclosed brackets and stars are searched from each of them on."""
_MARK = re.compile(r"[][*_`<>&#|!]")
_SEARCHED = re.compile(r"[][*_`<]")
_PARAGRAPH = re.compile(r"\n[ \t]*\n")


def broken_rule(text: str) -> str:
    """The rule broken by a text that is too slow to render, as the end of a sentence; '' for none.

    >>> broken_rule("*Plain* text.")
    ''
    >>> broken_rule("[" * 601)
    'may have at most 600 of the characters [ ] * _ ` < in a paragraph.'
    """
    if len(text) > CHARACTERS:
        return f"may have at most {CHARACTERS:,} characters."
    if text.count("\n") >= LINES:
        return f"may have at most {LINES:,} lines."
    if len(_MARK.findall(text)) > MARKS:
        return f"may have at most {MARKS:,} marks of Markdown."
    # Line ends count alike: forms and files send different ones.
    plain = text.replace("\r\n", "\n").replace("\r", "\n")
    if any(len(_SEARCHED.findall(part)) > MARKS_TOGETHER for part in _PARAGRAPH.split(plain)):
        return f"may have at most {MARKS_TOGETHER} of the characters [ ] * _ ` < in a paragraph."
    return ""


SUBJECT_CHARACTERS = 200


def one_line(text: str) -> str:
    r"""The text without what could end a header: control characters and line ends become spaces.

    >>> one_line("Late runs\r\nBcc: everybody@example.org")
    'Late runs Bcc: everybody@example.org'
    """
    plain = "".join(letter if letter.isprintable() else " " for letter in text)
    return " ".join(plain.split())[:SUBJECT_CHARACTERS]
