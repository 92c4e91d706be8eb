"""From rows of a query log to sessions by topic, and those as compressed bytes and back.

A session is one ranking as one user saw it. Users become keyed hashes here, or nothing at all.
"""

import hmac
import json
import struct
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from leaderboard.checksums import compressed, plain_bytes
from leaderboard.errors import Problem
from leaderboard.pooling.clicks import Sessions
from leaderboard.trec.clicks.logs import ClickLog, ClickRow
from leaderboard.trec.read.lines import Problems, shown

HASH_BYTES = 16
PAUSE_S = 30 * 60
"""Time without a row after which the same user's next row begins a session."""
MOST_OPEN = 50_000
"""Sessions that wait for more rows; beyond that the oldest one ends."""
LISTED = 100
"""Topics and queries that are listed where they match none of the task's."""

_MAGIC = b"LBC1"
_HEAD = struct.Struct("<I")
_DAY_S = 86_400
_LEVEL = 3


@dataclass(frozen=True, eq=False)
class TopicSessions:
    """A topic's sessions; documents point into docnos, users into those of the log."""

    docnos: tuple[str, ...]
    sessions: Sessions
    days: NDArray[np.int64]
    """(sessions,) days since 1970; -1 where no time is known."""


@dataclass(frozen=True, eq=False)
class LogSessions:
    """The stored part of a log."""

    topics: dict[str, TopicSessions]
    users: tuple[bytes, ...]
    """Keyed hashes; empty where users were dropped or the log has none."""

    @property
    def count(self) -> int:
        """Number of sessions."""
        return sum(topic.days.size for topic in self.topics.values())


@dataclass(frozen=True, eq=False)
class SessionsRead:
    """A log as it was read."""

    kept: LogSessions
    rows: int
    unknown_rows: int
    unknown: dict[str, int]
    """Topic or query that matches none of the task's -> its rows; the most frequent ones."""
    ignored: tuple[str, ...]
    """Columns that are not known."""


def keyed_hash(key: bytes, user: str) -> bytes:
    """The pseudonym of a user: the same in all logs hashed with that key, meaningless without it.

    >>> keyed_hash(b"one", "Ann") == keyed_hash(b"one", "Ann") != keyed_hash(b"two", "Ann")
    True
    """
    return hmac.digest(key, user.encode("utf-8", "surrogatepass"), "sha256")[:HASH_BYTES]


def read_sessions(log: ClickLog, topic_of: Callable[[str], str | None], key: bytes | None) -> SessionsRead:
    """The sessions of a log.

    topic_of: text of a topic or query -> the task's topic id, None if unknown; a row's topic is looked up
    first, then its query. key: users are hashed with it; None drops them once their rows are told apart. Rows
    of one session name in the log are one session; without one a session ends where a rank or document comes
    again, after half an hour, and, where users are not known, where the rank does not rise. Raises what
    reading the log raises.
    """
    maker = _Maker(log.problems, key)
    resolved: dict[tuple[str, str], str | None] = {}
    unknown: Counter[str] = Counter()
    for row in log:
        asked = row.topic, row.query
        if asked not in resolved:
            texts = [text for text in asked if text]
            resolved[asked] = next((match for text in texts if (match := topic_of(text))), None)
        topic = resolved[asked]
        if topic is None:
            unknown[shown(row.topic or row.query)] += 1
        else:
            maker.add(topic, row)
    kept = maker.done()
    listed = dict(sorted(unknown.items(), key=lambda row_count: (-row_count[1], row_count[0]))[:LISTED])
    return SessionsRead(kept, log.rows, unknown.total(), listed, log.ignored)


@dataclass
class _Open:
    """A session that may get more rows."""

    topic: str
    user: int
    named: bool
    day: int
    until: float
    places: dict[int, int] = field(default_factory=dict)
    """Document -> rank."""
    clicked: dict[int, float] = field(default_factory=dict)
    """Document -> when."""


@dataclass
class _Growing:
    """A topic's sessions that are done."""

    docnos: dict[str, int] = field(default_factory=dict)
    sizes: list[int] = field(default_factory=list)
    documents: list[int] = field(default_factory=list)
    ranks: list[int] = field(default_factory=list)
    clicked: list[bool] = field(default_factory=list)
    last: list[int] = field(default_factory=list)
    users: list[int] = field(default_factory=list)
    days: list[int] = field(default_factory=list)


class _Maker:
    """Puts rows together to sessions."""

    def __init__(self, problems: Problems, key: bytes | None) -> None:
        self._problems = problems
        self._key = key
        self._topics: dict[str, _Growing] = {}
        self._users: dict[str, int] = {}
        self._open: dict[tuple[str, int, str], _Open] = {}

    def add(self, topic: str, row: ClickRow) -> None:
        """Add a row of a topic."""
        growing = self._topics.setdefault(topic, _Growing())
        document = growing.docnos.setdefault(row.docno, len(growing.docnos))
        user = self._users.setdefault(row.user, len(self._users)) if row.user else -1
        place = topic, user, row.session
        session = self._open.get(place)
        if session is not None and not row.session and _ended(session, document, row):
            self._close(self._open.pop(place))
            session = None
        if session is None:
            day = -1 if row.time is None else int(row.time // _DAY_S)
            session = self._open[place] = _Open(topic, user, bool(row.session), day, row.time or 0.0)
            if len(self._open) > MOST_OPEN:
                self._close(self._open.pop(next(iter(self._open))))
        if session.named and self._contradicts(session, document, row):
            return
        session.places[document] = row.rank
        session.until = session.until if row.time is None else row.time
        if row.clicked:
            session.clicked[document] = row.time or 0.0

    def done(self) -> LogSessions:
        """All sessions; raises Invalid where rows contradict each other."""
        for session in self._open.values():
            self._close(session)
        self._open.clear()
        self._problems.stop()
        topics = {topic: _finished(growing) for topic, growing in sorted(self._topics.items())}
        if self._key is None:
            return LogSessions({topic: _without_users(of_topic) for topic, of_topic in topics.items()}, ())
        key = self._key
        return LogSessions(topics, tuple(keyed_hash(key, user) for user in self._users))

    def _contradicts(self, session: _Open, document: int, row: ClickRow) -> bool:
        before = session.places.get(document)
        if before is not None and before != row.rank:
            rule = f"Its session shows the document at rank {before} already."
        elif before is None and row.rank in session.places.values():
            rule = f"Its session shows another document at rank {row.rank} already."
        else:
            return False
        self._problems.add(Problem(rule, "Use a separate session for each ranking shown.", row.line, "rank"))
        return True

    def _close(self, session: _Open) -> None:
        growing = self._topics[session.topic]
        shown_at = sorted(session.places, key=session.places.__getitem__)
        clicked = session.clicked
        # Clicks at the same time, or without one, are ordered by rank: the lowest was the last.
        last = max(((clicked[document], session.places[document]) for document in clicked), default=(0.0, 0))[
            1
        ]
        growing.sizes.append(len(shown_at))
        growing.documents += shown_at
        growing.ranks += [session.places[document] for document in shown_at]
        growing.clicked += [document in clicked for document in shown_at]
        growing.last.append(last)
        growing.users.append(session.user)
        growing.days.append(session.day)


def _ended(session: _Open, document: int, row: ClickRow) -> bool:
    """Whether a row without a session's name begins another ranking than the one before."""
    if row.time is not None and session.day >= 0 and abs(row.time - session.until) > PAUSE_S:
        return True
    if not row.user:
        return row.rank <= max(session.places.values()) or document in session.places
    return document in session.places or row.rank in session.places.values()


def _finished(growing: _Growing) -> TopicSessions:
    sessions = Sessions(
        starts=np.concatenate([[0], np.cumsum(growing.sizes, dtype=np.int64)]),
        documents=np.array(growing.documents, dtype=np.int64),
        ranks=np.array(growing.ranks, dtype=np.int64),
        clicked=np.array(growing.clicked, dtype=np.bool_),
        last=np.array(growing.last, dtype=np.int64),
        users=np.array(growing.users, dtype=np.int64),
    )
    return TopicSessions(tuple(growing.docnos), sessions, np.array(growing.days, dtype=np.int64))


def _without_users(topic: TopicSessions) -> TopicSessions:
    users = np.full_like(topic.sessions.users, -1)
    return TopicSessions(topic.docnos, topic.sessions._replace(users=users), topic.days)


_FORMS = {"sizes": "<u2", "documents": "<u4", "ranks": "<u2", "clicked": "?", "last": "<u2"}
_FORMS |= {"users": "<i4", "days": "<i4"}
"""Storage format of each array of a topic, in this order."""


def pack_sessions(log: LogSessions) -> bytes:
    """A log's sessions as one compressed string."""
    arrays = []
    head = []
    for topic, of_topic in log.topics.items():
        stored: Mapping[str, NDArray[np.generic]] = {
            **of_topic.sessions._asdict(),
            "sizes": np.diff(of_topic.sessions.starts),
            "days": of_topic.days,
        }
        arrays += [stored[name].astype(form).tobytes() for name, form in _FORMS.items()]
        head.append([topic, of_topic.days.size, of_topic.sessions.documents.size, of_topic.docnos])
    text = json.dumps([len(log.users), head]).encode()
    plain = b"".join([_HEAD.pack(len(text)), text, *log.users, *arrays])
    return compressed(_MAGIC, plain, _LEVEL)


def unpack_sessions(packed: bytes) -> LogSessions:
    """The sessions; raises Damaged where the bytes are not what was packed."""
    plain = plain_bytes(_MAGIC, packed, "sessions of a query log")
    at = _HEAD.size + _HEAD.unpack_from(plain)[0]
    count, head = json.loads(plain[_HEAD.size : at])
    users = tuple(plain[at + HASH_BYTES * user : at + HASH_BYTES * (user + 1)] for user in range(count))
    at += HASH_BYTES * count
    topics = {}
    for topic, size, shown_in_all, docnos in head:
        arrays = {}
        for name, form in _FORMS.items():
            length = shown_in_all if name in ("documents", "ranks", "clicked") else size
            arrays[name] = np.frombuffer(plain, form, length, at)
            at += arrays[name].nbytes
        topics[topic] = _unpacked(tuple(docnos), arrays)
    return LogSessions(topics, users)


def _unpacked(docnos: tuple[str, ...], arrays: Mapping[str, NDArray[np.generic]]) -> TopicSessions:
    whole = {name: array.astype(np.int64) for name, array in arrays.items() if name != "clicked"}
    starts = np.concatenate([[0], np.cumsum(whole["sizes"])])
    sessions = Sessions(
        starts=starts,
        documents=whole["documents"],
        ranks=whole["ranks"],
        clicked=arrays["clicked"].astype(np.bool_),
        last=whole["last"],
        users=whole["users"],
    )
    return TopicSessions(docnos, sessions, whole["days"])


def joined(topic: str, logs: Iterable[LogSessions]) -> TopicSessions:
    """A topic's sessions of several logs as one; users and documents are the same in all."""
    users: dict[bytes, int] = {}
    docnos: dict[str, int] = {}
    parts = []
    for log in logs:
        own = np.array([users.setdefault(user, len(users)) for user in log.users] + [-1], dtype=np.int64)
        if topic in log.topics:
            of_topic = log.topics[topic]
            numbers = [docnos.setdefault(docno, len(docnos)) for docno in of_topic.docnos]
            places = np.array(numbers, dtype=np.int64)
            sessions = of_topic.sessions
            parts.append(
                (
                    sessions._replace(documents=places[sessions.documents], users=own[sessions.users]),
                    of_topic.days,
                )
            )
    sizes = np.concatenate([np.diff(sessions.starts) for sessions, _ in parts])
    whole = Sessions(
        np.concatenate([[0], np.cumsum(sizes)]),
        *(
            np.concatenate([sessions[place] for sessions, _ in parts])
            for place in range(1, len(Sessions._fields))
        ),
    )
    return TopicSessions(tuple(docnos), whole, np.concatenate([days for _, days in parts]))
