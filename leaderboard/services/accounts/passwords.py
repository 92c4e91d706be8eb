"""Passwords: what is asked of one, and Argon2id at the cost a small server can bear.

19 MiB, two passes, one lane, at most four at a time: more memory or more at once would let a few
sign-ins exhaust a small machine.
"""

from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from threading import BoundedSemaphore
from unicodedata import normalize

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerifyMismatchError

from leaderboard.errors import Invalid, Problem
from leaderboard.services.accounts.names import canonical

MIN_CHARACTERS = 12
MAX_CHARACTERS = 256
MIN_DIFFERENT = 5
COMMON_WORDS = Path(__file__).with_name("common_passwords.txt")
_HASHER = PasswordHasher(time_cost=2, memory_cost=19 * 1024, parallelism=1)
_GATE = BoundedSemaphore(4)
_NOBODYS = "$argon2id$v=19$m=19456,t=2,p=1$S91d/RSaCVdMamlrQlyDmg$mv6wQMR+O3jQtI5NdkcQpvtZGPVVuICBNjK+qcgOOuE"
"""Hash of a password nobody has, checked for names that do not exist so that they cost the same."""
_LOOK_ALIKES = str.maketrans("0134578@$!", "oieastbasi")


@dataclass(frozen=True, slots=True)
class AccountPassword:
    """A password as it is stored."""

    text: str


def hashed(password: str, name: str = "") -> AccountPassword:
    """The password's hash; takes tens of milliseconds, so call it before a transaction opens.

    Raises Invalid where the password is short, long, common or the account's name.
    """
    tidy = normalize("NFKC", password)
    rule = _broken_rule(tidy, name)
    if rule:
        remedy = "Four or five unrelated words make a good one."
        raise Invalid(rule, [Problem(rule, remedy, field="password")])
    return rehashed(tidy)


def rehashed(password: str) -> AccountPassword:
    """The hash at today's cost of a password that was accepted before, whatever is asked of new ones."""
    with _GATE:
        return AccountPassword(_HASHER.hash(normalize("NFKC", password)))


def matches(stored: str | None, password: str) -> bool:
    """Whether the password is the one stored; None is nobody's, costs the same and never matches."""
    with _GATE:
        try:
            _HASHER.verify(stored or _NOBODYS, normalize("NFKC", password))
        except (VerifyMismatchError, InvalidHashError):
            return False
    return stored is not None


def is_outdated(stored: str) -> bool:
    """Whether the hash was made at another cost than today's."""
    return _HASHER.check_needs_rehash(stored)


def _broken_rule(password: str, name: str) -> str:
    if not MIN_CHARACTERS <= len(password) <= MAX_CHARACTERS:
        return f"A password has {MIN_CHARACTERS} to {MAX_CHARACTERS} characters."
    if name and canonical(password) == canonical(name):
        return "The password may not be the name."
    if len(set(password)) < MIN_DIFFERENT or _is_common(password):
        return "This password is among the first ones anybody would guess."
    return ""


def _is_common(password: str) -> bool:
    """Whether only common words and digits are left once case and look-alike characters are undone."""
    words, plain = _common_words(), password.casefold()
    ends = plain.strip("0123456789!?.,-_*#@$+ ")
    spellings = {plain, ends, plain.translate(_LOOK_ALIKES), ends.translate(_LOOK_ALIKES)}
    return any(_is_made_of(spelling, words) for spelling in spellings) or _is_a_walk(plain)


def _is_made_of(text: str, words: frozenset[str]) -> bool:
    """Whether the text is one of the words, or one of them again and again."""
    return any(
        text == word * (len(text) // len(word))
        for word in words
        if text.startswith(word) and len(text) % len(word) == 0
    )


def _is_a_walk(text: str) -> bool:
    """Whether the characters only count up or down: abcdefghijkl, 987654321098."""
    wrap = 10 if text.isdigit() else 0x110000
    return len({(ord(after) - ord(before)) % wrap for before, after in pairwise(text)}) == 1


@cache
def _common_words() -> frozenset[str]:
    lines = COMMON_WORDS.read_text(encoding="utf-8").splitlines()
    return frozenset(line.strip() for line in lines if line.strip() and not line.startswith("#"))
