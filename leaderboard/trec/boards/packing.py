"""The stored form of references and boards of judges: JSON, compressed, with a checksum."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from leaderboard.checksums import compressed, damaged, plain_bytes
from leaderboard.trec.boards.align import Reference, reference_from
from leaderboard.trec.boards.board_files import BoardFile
from leaderboard.trec.boards.forms import Declared

_REFERENCE, BOARD_MAGIC = b"BRF1", b"BRD1"
_LEVEL = 3


@dataclass(frozen=True, slots=True)
class Origin:
    """The board of a site's task that a reference was: there are its runs, and what they are scored by.

    kind: what the task takes; edition_id: that the board was of; run_ids: in the order of the reference.
    """

    task_id: int
    kind: str
    edition_id: int
    run_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ForeignOrigin:
    """An origin as other sites know it: by digests, as ids of a site mean nothing there.

    slug: of the task, of this kind. judgments: the digest of the revision that the board was under; dialect:
    its order of equal scores; size: documents of the collection, None if unknown. runs: the digests of
    rankings or answers, in the order of the reference.
    """

    slug: str
    kind: str
    judgments: str
    dialect: int
    size: int | None
    runs: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class KeptReference:
    """A reference as it was when it was chosen.

    source: where it is from, as text. facts: run -> what it declares. is_machine: whether it rests on
    judgments of a machine. origin: None for a board file, and for references chosen before origins were
    stored. elsewhere: of a board whose task is on another site, that the reference was brought from.
    """

    reference: Reference
    source: str
    facts: Mapping[str, Declared] = field(default_factory=dict)
    is_machine: bool = False
    origin: Origin | None = None
    elsewhere: ForeignOrigin | None = None

    @property
    def sha256(self) -> str:
        """The digest of all that it says, without where its runs are: on other sites these have other ids."""
        return hashlib.sha256(text(replace(self, origin=None, elsewhere=None))).hexdigest()


@dataclass(frozen=True, slots=True, eq=False)
class KeptBoard:
    """The board of a judge, and the measure of it that counts."""

    board: BoardFile
    primary: str

    @property
    def sha256(self) -> str:
        """The digest of its values and of what counts, for any order and form of the file."""
        return hashlib.sha256(text(self)).hexdigest()


@dataclass(frozen=True, slots=True, eq=False)
class BoardRules:
    """The rules for a judge's file: the task's topics and its reference's runs and topics.

    places: (run, topic) -> how many documents each segment cites, where the runs are answers.
    """

    topics: tuple[str, ...]
    kept: KeptReference
    places: Mapping[tuple[str, str], tuple[int, ...]] = field(default_factory=dict)


def pack_reference(kept: KeptReference) -> bytes:
    """A reference in its stored form."""
    return compressed(_REFERENCE, text(kept), _LEVEL)


def unpack_reference(stored: bytes) -> KeptReference:
    """The reference that was stored; raises Damaged."""
    record = _record(_REFERENCE, stored, "the reference")
    try:
        return reference_in(record)
    except (ValueError, KeyError, TypeError) as error:
        raise damaged("the reference", "it has another form") from error


def reference_in(record: dict[str, Any]) -> KeptReference:
    """The reference in the object of `text`, without a check of its values."""
    scores = np.array(record["scores"], dtype=np.float64)
    shape = len(record["runs"]), len(record["topics"])
    return KeptReference(
        reference=reference_from(record["runs"], record["topics"], record["measure"], scores.reshape(shape)),
        source=record["source"],
        facts={run: Declared(**declared) for run, declared in record["facts"].items()},
        is_machine=record["is_machine"],
        origin=_origin(record.get("origin")),
        elsewhere=_elsewhere(record.get("elsewhere")),
    )


def is_board(stored: bytes) -> bool:
    """Whether a judge's submission is a board, not labels."""
    return stored.startswith(BOARD_MAGIC)


def pack_board(kept: KeptBoard) -> bytes:
    """A judge's board in its stored form, without the warnings about its file."""
    return compressed(BOARD_MAGIC, text(kept), _LEVEL)


def unpack_board(stored: bytes, name: str) -> KeptBoard:
    """The board that was stored, under a name; raises Damaged."""
    record = _record(BOARD_MAGIC, stored, "the board")
    try:
        return board_in(record, name)
    except (ValueError, KeyError, TypeError) as error:
        raise damaged("the board", "it has another form") from error


def board_in(record: dict[str, Any], name: str) -> KeptBoard:
    """The board in the object of `text`, under a name; its values are not checked."""
    board = BoardFile(
        name=name,
        order="",
        values=record["values"],
        totals=record["totals"],
        unusable=tuple(record["unusable"]),
        runs=tuple(record["runs"]),
        topics=tuple(record["topics"]),
        warnings=(),
    )
    return KeptBoard(board, record["primary"])


def text(kept: KeptReference | KeptBoard) -> bytes:
    """All contents as one JSON text."""
    record = _of_reference(kept) if isinstance(kept, KeptReference) else _of_board(kept)
    return json.dumps(record, sort_keys=True, separators=(",", ":")).encode()


def _origin(given: dict[str, Any] | None) -> Origin | None:
    return None if given is None else Origin(**{**given, "run_ids": tuple(given["run_ids"])})


def _elsewhere(given: dict[str, Any] | None) -> ForeignOrigin | None:
    return None if given is None else ForeignOrigin(**{**given, "runs": tuple(given["runs"])})


def _of_reference(kept: KeptReference) -> dict[str, Any]:
    # Without an origin as it was before there were any.
    origins = {"origin": kept.origin, "elsewhere": kept.elsewhere}
    return {
        **{key: asdict(origin) for key, origin in origins.items() if origin is not None},
        "runs": kept.reference.runs,
        "topics": kept.reference.topics,
        "measure": kept.reference.measure,
        "scores": kept.reference.scores.tolist(),
        "source": kept.source,
        "facts": {run: asdict(declared) for run, declared in kept.facts.items()},
        "is_machine": kept.is_machine,
    }


def _of_board(kept: KeptBoard) -> dict[str, Any]:
    board = kept.board
    return {
        "primary": kept.primary,
        "values": board.values,
        "totals": board.totals,
        "unusable": sorted(board.unusable),
        "runs": sorted(board.runs),
        "topics": sorted(board.topics),
    }


def _record(magic: bytes, stored: bytes, what: str) -> Any:
    return json.loads(plain_bytes(magic, stored, what))
