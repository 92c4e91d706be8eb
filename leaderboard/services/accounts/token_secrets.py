"""Secrets of tokens: lb_, a letter of the kind, 30 random characters and 6 of a checksum.

By the prefix and the checksum a scanner of published files tells one from chance, and one that was mistyped
or cut off is known without looking it up. The underscore lets a double click select all of it.
"""

import re
import secrets
import string
from zlib import crc32

ALPHABET = string.digits + string.ascii_uppercase + string.ascii_lowercase
RANDOM_CHARACTERS = 30
"""Of 62 letters and digits: 178 random bits, so a fast digest of them is enough."""
CHECKSUM_CHARACTERS = 6
"""62**6 is more than 2**32."""
SHOWN_CHARACTERS = 8
LETTERS = {"personal": "p", "runner": "r"}
FORM = re.compile("lb_[pr][0-9A-Za-z]{36}")
"""Random characters and checksum."""


def made(kind: str) -> str:
    """A new secret of a token of that kind."""
    drawn = "".join(secrets.choice(ALPHABET) for _ in range(RANDOM_CHARACTERS))
    body = f"lb_{LETTERS[kind]}{drawn}"
    return body + checksum(body)


def is_whole(secret: str) -> bool:
    """Whether the text has the form of a secret and its checksum is right."""
    body, end = secret[:-CHECKSUM_CHARACTERS], secret[-CHECKSUM_CHARACTERS:]
    return FORM.fullmatch(secret) is not None and checksum(body) == end


def prefix(secret: str) -> str:
    """The first characters, by which an owner tells tokens apart; they help nobody to guess the rest."""
    return secret[:SHOWN_CHARACTERS]


def checksum(body: str) -> str:
    """The CRC-32 of what comes before it, as six letters and digits.

    >>> checksum("lb_p000000000000000000000000000000")
    '2UE54C'
    """
    number, text = crc32(body.encode("ascii")), ""
    for _ in range(CHECKSUM_CHARACTERS):
        number, digit = divmod(number, len(ALPHABET))
        text = ALPHABET[digit] + text
    return text
