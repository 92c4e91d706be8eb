"""An object store, such as S3, that may hold files in place of the database.

Its location and credentials come from the variables of the store's kind (AWS_ACCESS_KEY_ID, AWS_ENDPOINT_URL,
GOOGLE_..., AZURE_...). Source: obstore, "Configuration", 0.12.
"""

import os
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from importlib.util import find_spec
from io import BufferedReader, RawIOBase
from typing import Any

from leaderboard.checksums import damaged
from leaderboard.errors import Invalid, StoreAway

SCHEMES = ("s3", "gs", "az", "file")
PART_BYTES = 8 * 2**20
"""Of an object when sent and when read; two parts are on their way at a time."""
AGAIN_S = 60
"""When to come again while the store is away."""
CONNECT_S, ANSWER_S = timedelta(seconds=5), timedelta(seconds=60)
PATIENCE = {"max_retries": 3, "retry_timeout": timedelta(seconds=20)}
"""A store that does not answer is given up after that: a reader waits, and who moves files comes again."""


@dataclass(frozen=True, slots=True)
class ListedObject:
    """An object as the store lists it: its key, and when it was put there by the store's clock."""

    key: str
    modified: datetime


class ObjectStore:
    """A bucket, or a part of one, by its URL: s3://bucket/prefix, gs://..., az://... or file:///folder.

    Raises Invalid where the URL is not one of these, or the extra is not installed. Everything else raises
    StoreAway where the store does not answer or refuses.
    """

    def __init__(self, url: str) -> None:
        if url.partition("://")[0] not in SCHEMES:
            schemes = ", ".join(f"{scheme}://" for scheme in SCHEMES)
            raise Invalid(f"LEADERBOARD_OBJECTS_URL is {url!r}; it must begin with one of {schemes}.")
        if find_spec("obstore") is None:
            raise Invalid(
                "LEADERBOARD_OBJECTS_URL is set, but object store support is not installed. Run `pip "
                "install ir-leaderboard[objects]`, or unset it."
            )
        self._url = url
        self._opened: Any = None
        # Opened once, by whichever thread comes first.
        self._turn = threading.Lock()

    def put(self, key: str, pieces: Iterable[bytes]) -> int:
        """Store an object, in parts as it comes; how many bytes it has. It is there whole or not at all."""
        size = 0

        def counted() -> Iterator[bytes]:
            nonlocal size
            for piece in pieces:
                size += len(piece)
                yield piece

        with self._asked() as (obstore, store):
            obstore.put(store, key, counted(), chunk_size=PART_BYTES, max_concurrency=2)
        return size

    def open(self, key: str, size: int) -> BufferedReader:
        """An object from its beginning; raises Damaged if it is missing or has another size in bytes."""
        with self._asked() as (obstore, store):
            try:
                stored_size = obstore.head(store, key)["size"]
            except FileNotFoundError:
                raise damaged(
                    "files", f"{key} is missing from the object store; restore it from a copy"
                ) from None
        if stored_size != size:
            raise damaged("files", f"{key} in the object store has {stored_size:,} bytes, not {size:,}")
        return BufferedReader(_Parts(self, key, size), 2**20)

    def part(self, key: str, start: int, length: int) -> bytes:
        """Some bytes of an object."""
        with self._asked() as (obstore, store):
            return bytes(obstore.get_range(store, key, start=start, length=length))

    def listed(self) -> Iterator[ListedObject]:
        """Every object that there is, a thousand with each request."""
        with self._asked() as (obstore, store):
            for some in obstore.list(store):
                yield from (ListedObject(each["path"], each["last_modified"]) for each in some)

    def remove(self, keys: Sequence[str]) -> None:
        """Remove objects; missing ones are skipped."""
        with self._asked() as (obstore, store):
            for key in keys:
                try:
                    obstore.delete(store, key)
                except FileNotFoundError:
                    continue

    @contextmanager
    def _asked(self) -> Iterator[tuple[Any, Any]]:
        """The library and the store; its errors become StoreAway, with the first line of their message."""
        import obstore

        try:
            yield obstore, self._store()
        except (obstore.exceptions.BaseError, OSError) as error:
            raise away(str(error).partition("\n")[0]) from error

    def _store(self) -> Any:
        with self._turn:
            if self._opened is None:
                from obstore.store import from_url

                self._opened = from_url(self._url, **_options(self._url))
            return self._opened


def _options(url: str) -> dict[str, Any]:
    if url.startswith("file:"):
        return {"mkdir": True}
    # These arguments override the values that the library reads from this variable.
    allow_http = os.environ.get("AWS_ALLOW_HTTP", "").lower() in ("1", "true")
    client = {"connect_timeout": CONNECT_S, "timeout": ANSWER_S, "allow_http": allow_http}
    return {"client_options": client, "retry_config": PATIENCE}


def away(why: str) -> StoreAway:
    """The error for a store that cannot be asked; why is for the log, not for readers."""
    return StoreAway(
        "This file is in the site's object store, which does not answer. Try again in a minute.",
        retry_after_s=AGAIN_S,
        why=why,
    )


class _Parts(RawIOBase):
    """An object's bytes, fetched a part at a time: each is retried separately if it fails."""

    def __init__(self, store: ObjectStore, key: str, size: int) -> None:
        self._store, self._key, self._size = store, key, size
        self._at = 0
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer from the current part; returns 0 at the end."""
        if not self._rest and self._at < self._size:
            self._rest = memoryview(
                self._store.part(self._key, self._at, min(PART_BYTES, self._size - self._at))
            )
            self._at += len(self._rest)
        length = min(len(buffer), len(self._rest))
        buffer[:length] = self._rest[:length]
        self._rest = self._rest[length:]
        return length
