"""What the optional C module has; kernel.py says what the arguments are."""

from typing import Any

Buffer = Any

def columns(
    body: Buffer,
    end: int,
    final: int,
    fields: int,
    strict: int,
    id_bytes: int,
    at: Buffer,
    length: Buffer,
    hash: Buffer,
    score: Buffer,
    group_start: Buffer,
    group_at: Buffer,
    group_length: Buffer,
    group_line: Buffer,
    /,
) -> tuple[int, int, int, int, int, int, int, int]: ...
def order(
    body: Buffer,
    at: Buffer,
    length: Buffer,
    score: Buffer,
    group_start: Buffer,
    groups: int,
    single: int,
    order: Buffer,
    ties: Buffer,
    /,
) -> None: ...
def doubled(
    body: Buffer, at: Buffer, length: Buffer, hash: Buffer, group_start: Buffer, groups: int, /
) -> int: ...
def hashes(body: Buffer, at: Buffer, length: Buffer, hash: Buffer, /) -> None: ...
def index_documents(hash: Buffer, starts: Buffer, slots: Buffer, slot_starts: Buffer, /) -> None: ...
def hits(
    body: Buffer,
    at: Buffer,
    length: Buffer,
    hash: Buffer,
    order: Buffer,
    group_start: Buffer,
    place: Buffer,
    depth: int,
    letters: Buffer,
    document_at: Buffer,
    document_length: Buffer,
    document_hash: Buffer,
    starts: Buffer,
    slots: Buffer,
    slot_starts: Buffer,
    hit_topic: Buffer,
    hit_rank: Buffer,
    hit_document: Buffer,
    /,
) -> int: ...
def last_topic(body: Buffer, end: int, patience: int, /) -> int: ...
def joined(body: Buffer, at: Buffer, length: Buffer, which: Buffer, separator: int, /) -> bytes: ...
