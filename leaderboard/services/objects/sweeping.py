"""Objects that nothing refers to, removed once no backup that is still of use can refer to them."""

import re
from collections.abc import Iterable, Iterator
from datetime import timedelta
from itertools import islice

from sqlalchemy import delete, select, update

from leaderboard.db.engine import Database, now
from leaderboard.db.tables import StoredObject
from leaderboard.services.objects.moves import store_of

OURS = re.compile(r"[0-9a-f]{2}/[0-9a-f]{64}-[0-9a-f]{16}\.zst")
"""Keys that this program makes; what else lies in the bucket is somebody else's."""
AT_ONCE = 500


def sweep(database: Database, keep_days: int) -> int:
    """Remove what nothing has referred to for that many days, one at least; how many objects.

    These are those whose upload was deleted or moved back, and those that a crash left without a row. Raises
    StoreAway.
    """
    keep = timedelta(days=max(1, keep_days))
    return _remove_loose(database, keep) + _remove_unknown(database, keep)


def _remove_loose(database: Database, keep: timedelta) -> int:
    with database.write(is_shown=False) as session:
        at = now(session)
        is_loose = StoredObject.upload_id.is_(None)
        new = update(StoredObject).where(is_loose, StoredObject.loose_since.is_(None))
        session.execute(new.values(loose_since=at))
        old = select(StoredObject.key).where(is_loose, StoredObject.loose_since < at - keep)
        keys = list(session.scalars(old))
    for some in _batches(keys):
        # Rows go last: what a crash leaves in between is removed by the next sweep.
        store_of(database).remove(some)
        with database.write(is_shown=False) as session:
            session.execute(delete(StoredObject).where(StoredObject.key.in_(some)))
    return len(keys)


def _remove_unknown(database: Database, keep: timedelta) -> int:
    store, removed = store_of(database), 0
    with database.read() as session:
        since = now(session) - keep
    # No transaction is open for as long as that: whoever put one there has settled it or is gone.
    old = (each.key for each in store.listed() if each.modified < since and OURS.fullmatch(each.key))
    for some in _batches(old):
        with database.read() as session:
            known = set(session.scalars(select(StoredObject.key).where(StoredObject.key.in_(some))))
        store.remove([key for key in some if key not in known])
        removed += len(some) - len(known)
    return removed


def _batches(keys: Iterable[str]) -> Iterator[list[str]]:
    source = iter(keys)
    while some := list(islice(source, AT_ONCE)):
        yield some
