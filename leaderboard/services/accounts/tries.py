"""How often a secret may be guessed: strict for strangers, counted apart for devices the account knows.

After OWASP's "Slow down online guessing attacks with device cookies": who guesses somebody's password
cannot keep that person out of a browser that has signed in before.
"""

from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from leaderboard.db.engine import now
from leaderboard.db.tables import Throttle
from leaderboard.services import throttles
from leaderboard.services.accounts.sessions import digest

TRIES = 10
NETWORK_TRIES = 30
WINDOW = timedelta(minutes=5)
FREE_TRIES = 50
"""Failed tries a day at one account from all strange networks together, before pauses begin."""
DAY = timedelta(days=1)
DOUBLES_EVERY = 5
LONGEST_PAUSE = timedelta(minutes=15)
UNLIMITED = 2**31


@dataclass(frozen=True, slots=True)
class AccountTry:
    """One try to prove who one is: kind is what is guessed, name whose it is, ip where from.

    device is the digest of a device of that account, empty for a stranger.
    """

    kind: str
    name: str
    ip: str
    device: str = ""

    @property
    def _whose(self) -> str:
        # Digests keep keys short whatever is typed, and typed passwords out of the database.
        return f"{self.kind} name {digest(self.name)}"

    @property
    def _network(self) -> str:
        return f"{self.kind} ip {throttles.network(self.ip)}"

    @property
    def _pair(self) -> str:
        return f"{self._whose} ip {throttles.network(self.ip)}"

    @property
    def _pace(self) -> str:
        return f"{self._whose} pace"


def spend(session: Session, tried: AccountTry) -> None:
    """Count one try; raises OverQuota, with the fact retry_after_s, where there were too many.

    A known device has 10 in 5 minutes, and nobody else's count. A stranger has 10 in 5 minutes for one
    name and 30 for all names of a network; after 50 a day at one name from everywhere, there is a pause
    after each, from a second up to 15 minutes.
    """
    if tried.device:
        throttles.spend(session, _device(tried), TRIES, WINDOW)
        return
    throttles.spend(session, tried._pair, TRIES, WINDOW)
    throttles.spend(session, tried._network, NETWORK_TRIES, WINDOW)
    throttles.spend(session, tried._whose, UNLIMITED, DAY)
    spent = _spent(session, tried._whose)
    if spent > FREE_TRIES:
        throttles.spend(session, tried._pace, 1, pause(spent))


def give_back(session: Session, tried: AccountTry) -> None:
    """Take a try back: it was right."""
    if tried.device:
        throttles.clear(session, _device(tried))
        return
    throttles.clear(session, tried._pair)
    throttles.give_back(session, tried._network)
    throttles.give_back(session, tried._whose)


def pause(spent: int) -> timedelta:
    """How long to wait after so many tries at one account in a day.

    >>> [pause(spent).total_seconds() for spent in (51, 55, 80, 200)]
    [1.0, 2.0, 64.0, 900.0]
    """
    doublings = max(0, spent - FREE_TRIES) // DOUBLES_EVERY
    return min(timedelta(seconds=2 ** min(doublings, 10)), LONGEST_PAUSE)


def _device(tried: AccountTry) -> str:
    return f"{tried.kind} device {tried.device}"


def _spent(session: Session, key: str) -> int:
    recent = Throttle.window_start > now(session) - DAY
    return session.scalar(select(func.max(Throttle.count)).where(Throttle.key == key, recent)) or 0
