"""Rate limits with exact counts in the database, which survive a restart."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from ipaddress import IPv4Address, ip_address, ip_network
from threading import Semaphore

from sqlalchemy import delete, func, select, update
from sqlalchemy.orm import Session

from leaderboard.db.engine import lock_key, now
from leaderboard.db.tables import Throttle
from leaderboard.errors import Busy, OverQuota

FORGET_AFTER = timedelta(days=2)


def spend(session: Session, key: str, limit: int, window: timedelta, why: str = "Too many attempts") -> None:
    """Count one try under the key; a window opens at the first try and lasts `window`.

    why begins the sentence of a refusal. Raises OverQuota, with the fact retry_after_s, where the window
    holds `limit` tries already.
    """
    # Locked, because two simultaneous attempts would count only one.
    lock_key(session, key)
    at = now(session)
    session.execute(delete(Throttle).where(Throttle.window_start < at - FORGET_AFTER))
    row = session.scalar(select(Throttle).where(Throttle.key == key, Throttle.window_start > at - window))
    if row is None:
        session.add(Throttle(key=key, window_start=at, count=1))
        session.flush()
        return
    if row.count >= limit:
        seconds = max(1, round((row.window_start + window - at).total_seconds()))
        wait = f"{seconds} seconds" if seconds < 120 else f"{round(seconds / 60)} minutes"
        raise OverQuota(f"{why}. Try again in {wait}.", retry_after_s=seconds)
    row.count += 1


def left(session: Session, key: str, limit: int, window: timedelta) -> int:
    """The number of attempts left in the key's current window."""
    is_open = Throttle.key == key, Throttle.window_start > now(session) - window
    return max(0, limit - (session.scalar(select(func.max(Throttle.count)).where(*is_open)) or 0))


def give_back(session: Session, key: str) -> None:
    """Uncount one attempt of the key's newest window: it turned out to be harmless."""
    newest = select(func.max(Throttle.window_start)).where(Throttle.key == key).scalar_subquery()
    session.execute(
        update(Throttle)
        .where(Throttle.key == key, Throttle.window_start == newest, Throttle.count > 0)
        .values(count=Throttle.count - 1)
        .execution_options(synchronize_session=False)
    )


def clear(session: Session, key: str) -> None:
    """Forget every try of the key."""
    session.execute(delete(Throttle).where(Throttle.key == key))


@contextmanager
def turn(turns: Semaphore, words: str, retry_after_s: int) -> Iterator[None]:
    """A turn of the few that may be taken at a time; raises Busy with these words where all are taken."""
    if not turns.acquire(blocking=False):
        raise Busy(words, retry_after_s=retry_after_s)
    try:
        yield
    finally:
        turns.release()


def network(ip: str) -> str:
    """The unit that is counted for an address: an IPv6 site has 2**64 addresses, so its /64 is.

    An IPv4 address stays itself as a socket for both kinds writes it; anything else is used unchanged.

    >>> network("192.0.2.7"), network("2001:db8::1:2"), network("::ffff:192.0.2.7"), network("192.0.2.7:80")
    ('192.0.2.7', '2001:db8::/64', '192.0.2.7', '192.0.2.7:80')
    """
    try:
        address = ip_address(ip.partition("%")[0])
    except ValueError:
        return ip
    if isinstance(address, IPv4Address):
        return ip
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(ip_network(f"{address}/64", strict=False))
