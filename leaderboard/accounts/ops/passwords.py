"""Passwords: their rules, and Argon2id at a cost that a small server can bear.

How easily one is guessed is estimated by zxcvbn (D. L. Wheeler, zxcvbn: Low-Budget Password Strength
Estimation, USENIX Security 2016), which knows 30,000 common passwords, and by a list of words of our own.
Argon2id takes 19 MiB, two passes, one lane, at most four at a time: more memory or more at once would let
a few sign-ins exhaust a small machine.
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from threading import BoundedSemaphore
from unicodedata import normalize

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerifyMismatchError

from leaderboard.accounts.ops.names import canonical
from leaderboard.errors import Invalid, Problem

MIN_CHARACTERS = 12
MAX_CHARACTERS = 256
MIN_GUESSES = 1e8
MIN_GUESSES_OF_STEM = 1e3
"""A word among the first thousand is no better with a year appended."""
ESTIMATED_CHARACTERS = 72
"""Characters beyond these are not checked: estimating longer passwords takes ever longer."""
COMMON_WORDS = Path(__file__).with_name("common_words.txt")
HINT = f"At least {MIN_CHARACTERS} characters, such as four or five unrelated words."
_HASHER = PasswordHasher(time_cost=2, memory_cost=19 * 1024, parallelism=1)
_GATE = BoundedSemaphore(4)
_NOBODYS = "$argon2id$v=19$m=19456,t=2,p=1$S91d/RSaCVdMamlrQlyDmg$mv6wQMR+O3jQtI5NdkcQpvtZGPVVuICBNjK+qcgOOuE"
"""Dummy hash, checked for unknown names so that they take the same time."""
_ENDS = "0123456789!?.,-_*#@$+ "


@dataclass(frozen=True, slots=True)
class AccountPassword:
    """A password in its stored form."""

    text: str


def hashed(password: str, name: str = "") -> AccountPassword:
    """The password's hash; takes tens of milliseconds, so call it before a transaction opens.

    Raises Invalid as `require_strong` does.
    """
    require_strong(password, name)
    return rehashed(password)


def require_strong(password: str, name: str = "") -> str:
    """The password; raises Invalid where it is short, long, easily guessed or the account's name."""
    rule = _broken_rule(normalize("NFKC", password), name)
    if rule:
        remedy = "Four or five unrelated words make a good password."
        raise Invalid(rule, [Problem(rule, remedy, field="password")])
    return password


def rehashed(password: str) -> AccountPassword:
    """The hash at today's cost of a password accepted before, regardless of the rules for new ones."""
    with _GATE:
        return AccountPassword(_HASHER.hash(normalize("NFKC", password)))


def matches(stored: str | None, password: str) -> bool:
    """Whether the password matches the stored hash; None takes the same time and never matches."""
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
        return f"A password must have {MIN_CHARACTERS} to {MAX_CHARACTERS} characters."
    if name and canonical(password) == canonical(name):
        return "The password must not be the account name."
    if _is_common(password):
        return "This password is too easy to guess."
    return ""


def _is_common(password: str) -> bool:
    """Whether the password is soon guessed, or its stem without digits and signs at its ends very soon."""
    stem = password.strip(_ENDS)
    return _guesses(password) < MIN_GUESSES or (bool(stem) and _guesses(stem) < MIN_GUESSES_OF_STEM)


def _guesses(password: str) -> float:
    """About how many guesses it takes: common passwords, words, names, dates and keyboard rows first."""
    # Its word lists take twelve megabytes, which only processes that set a password need.
    from zxcvbn import zxcvbn

    estimate = zxcvbn(password[:ESTIMATED_CHARACTERS], user_inputs=_common_words())
    return float(estimate["guesses"])


@cache
def _common_words() -> list[str]:
    lines = COMMON_WORDS.read_text(encoding="utf-8").splitlines()
    return [line.strip() for line in lines if line.strip() and not line.startswith("#")]
