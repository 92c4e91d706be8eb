"""Every error a user can cause, each with a message its reader can act on; no HTTP and no SQL here."""

from collections.abc import Sequence
from dataclasses import dataclass

MAX_PROBLEMS = 25
"""Number of problems of one file after which reading stops."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with, or odd about, an input file.

    rule: the requirement, as a sentence; remedy: what to do about it, as a sentence.
    line is 1-based, None where the problem belongs to the whole file; field is the column's or
    option's name and value the offending text, cut to a readable length; both may be empty.
    count: how often it was met, examples: some of the values, where one problem covers several alike;
    fix: the name of the fix (leaderboard.trec.runs.fixes) that corrects it, empty if none does.
    """

    rule: str
    remedy: str = ""
    line: int | None = None
    field: str = ""
    value: str = ""
    count: int = 1
    examples: tuple[str, ...] = ()
    fix: str = ""

    def __str__(self) -> str:
        """The problem in one line: place, value, rule, remedy."""
        place = "" if self.line is None else f"line {self.line}: "
        what = f"{self.field} {self.value!r}: " if self.field and self.value else ""
        if self.value and not self.field:
            what = f"{self.value!r}: "
        is_in_rule = self.count == 1 or f"{self.count:,} " in self.rule
        alike = "" if is_in_rule else f" (and {self.count - 1:,} more like it)"
        return f"{place}{what}{self.rule}{alike} {self.remedy}".rstrip()


class LeaderboardError(Exception):
    """Base of all errors that are a user's to fix; message is a sentence, facts are its parts."""

    def __init__(self, message: str, **facts: object) -> None:
        super().__init__(message)
        self.message = message
        self.facts = facts


class Invalid(LeaderboardError):
    """Input breaks a rule; problems says where, what and how to fix it."""

    def __init__(self, message: str, problems: Sequence[Problem] = (), **facts: object) -> None:
        super().__init__(message, **facts)
        self.problems = tuple(problems)


class UnknownMeasure(Invalid):
    """No measure of that name, or a parameter that it does not have or that is out of range."""


class MissingInput(Invalid):
    """A measure needs something the judgments or the caller do not have."""


class NotFound(LeaderboardError):
    """There is no such thing, or the viewer may not know of it."""


class NotShown(NotFound):
    """The viewer knows of the task, but the requested part is hidden until it closes; the message says so."""


class Forbidden(LeaderboardError):
    """The viewer knows of the thing but may not do this to it."""


class NotEntered(Forbidden):
    """The team has not entered the task, and it asks teams to."""


class SignInNeeded(Forbidden):
    """The act needs an account and the viewer is not signed in."""


class SecondFactorNeeded(Forbidden):
    """The act is for accounts with a second factor and the viewer has not set one up."""


class Conflict(LeaderboardError):
    """The act contradicts stored data."""


class Changed(LeaderboardError):
    """The entity tags in the request's condition do not match the stored state."""


class WrongVersion(LeaderboardError):
    """The client speaks another version of a protocol than the site."""


class Closed(LeaderboardError):
    """The task or phase does not accept this now."""


class TooLarge(LeaderboardError):
    """The file is over a size limit."""


class OverQuota(LeaderboardError):
    """More often than the rules allow."""


class Busy(LeaderboardError):
    """Too much of this is going on at the same time; facts may say retry_after_s."""


class NoRoom(LeaderboardError):
    """The disk is full, or nearly."""


class StoreAway(LeaderboardError):
    """The object store does not answer, or refuses; facts: why, retry_after_s."""


class SchemaOutdated(LeaderboardError):
    """The database is not at the schema this program needs; the message names the command."""


class Damaged(LeaderboardError):
    """Stored data is damaged; facts: what and why."""
