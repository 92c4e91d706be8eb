"""How often something may be tried: counts in the database, exact and still there after a restart."""

from datetime import timedelta
from ipaddress import ip_network

from sqlalchemy import delete, func, select, update
from sqlalchemy.orm import Session

from leaderboard.db.engine import now
from leaderboard.db.tables import Throttle
from leaderboard.errors import OverQuota

FORGET_AFTER = timedelta(days=2)


def spend(session: Session, key: str, limit: int, window: timedelta) -> None:
    """Count one try under the key; a window opens at the first try and lasts `window`.

    Raises OverQuota, with the fact retry_after_s, where the window holds `limit` tries already.
    """
    if session.get_bind().dialect.name == "postgresql":
        # Two tries at once would read the same count and add one between them.
        session.execute(select(func.pg_advisory_xact_lock(func.hashtext(key))))
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
        raise OverQuota(f"That was tried too often; try again in {wait}.", retry_after_s=seconds)
    row.count += 1


def give_back(session: Session, key: str) -> None:
    """Take back one try of the key's newest window: it turned out to be harmless."""
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


def network(ip: str) -> str:
    """What is counted for an address: an IPv6 site has 2**64 of them, so its /64 is.

    >>> network("192.0.2.7"), network("2001:db8::1:2")
    ('192.0.2.7', '2001:db8::/64')
    """
    if ":" not in ip:
        return ip
    return str(ip_network(f"{ip.partition('%')[0]}/64", strict=False))
