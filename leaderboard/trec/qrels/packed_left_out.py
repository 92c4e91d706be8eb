"""Documents left out by topic as one compressed string for the database, and back."""

from collections.abc import Collection, Mapping

from leaderboard.checksums import compressed, plain_bytes
from leaderboard.trec.read.lines import bytes_of, text_of

_MAGIC = b"LBX1"
_LEVEL = 3


def pack_left_out(by_topic: Mapping[str, Collection[bytes]]) -> bytes | None:
    """The documents (topic -> docnos) as one compressed string, in byte order; None if absent.

    >>> unpack_left_out(pack_left_out({"2": {b"b"}, "1": set()}))
    {'2': frozenset({b'b'})}
    """
    lines = left_out_lines(by_topic)
    return compressed(_MAGIC, b"".join(lines), _LEVEL) if lines else None


def unpack_left_out(packed: bytes | None) -> dict[str, frozenset[bytes]]:
    """Topic -> docnos; raises Damaged where the bytes are not what was packed."""
    by_topic: dict[bytes, set[bytes]] = {}
    if packed is not None:
        for line in plain_bytes(_MAGIC, packed, "documents left out").splitlines():
            topic, docno = line.split(b" ")
            by_topic.setdefault(topic, set()).add(docno)
    return {text_of(topic): frozenset(docnos) for topic, docnos in by_topic.items()}


def left_out_lines(by_topic: Mapping[str, Collection[bytes]]) -> list[bytes]:
    """The documents as lines `topic docno`, in byte order.

    >>> left_out_lines({"2": {b"b", b"a"}, "10": {b"c"}})
    [b'10 c\\n', b'2 a\\n', b'2 b\\n']
    """
    topics = sorted(by_topic, key=bytes_of)
    return [b"%s %s\n" % (bytes_of(topic), docno) for topic in topics for docno in sorted(by_topic[topic])]
