"""Evaluations on their way to another machine and back: every number bit for bit, under a digest."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import msgspec
import numpy as np

from leaderboard.errors import Invalid, Problem
from leaderboard.services.evaluations.score import MeasureScores, Plan, RunScores, Scores
from leaderboard.trec.qrels.revision_inputs import RevisionInputs

Pair = tuple[bytes, bytes | None]
"""Scores, and parts of their aggregate, as little-endian doubles."""
DOUBLES = np.dtype("<f8")


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedPlan:
    """A plan: what to compute, and the judgments to compute it with."""

    dialect: int
    missing: tuple[dict[str, Any], ...]
    lacks_hits: bool
    ranking_sha256: str
    inputs: RevisionInputs


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedScores:
    """What came of a plan; sha256: of the plan as it was sent and of all values."""

    by_measure: Mapping[str, Pair]
    hits: bytes | None
    sha256: str


def packed_plan(plan: Plan) -> bytes:
    """The plan as bytes, the same for the same plan."""
    return msgspec.msgpack.encode(
        PackedPlan(
            dialect=plan.dialect,
            missing=plan.missing,
            lacks_hits=plan.lacks_hits,
            ranking_sha256=plan.ranking_sha256,
            inputs=plan.inputs,
        )
    )


def opened_plan(packed: bytes) -> Plan:
    """The plan of `packed_plan`."""
    sent = msgspec.msgpack.decode(packed, type=PackedPlan)
    return Plan(sent.dialect, sent.missing, sent.lacks_hits, sent.inputs, sent.ranking_sha256)


def packed_scores(scored: RunScores, plan: bytes) -> bytes:
    """The scores as bytes; plan: the bytes they were computed from."""
    by_measure = {
        key: (_doubles(of.scores), None if of.parts is None else _doubles(of.parts))
        for key, of in scored.by_measure.items()
    }
    digest = _digest(by_measure, scored.hits, plan)
    return msgspec.msgpack.encode(PackedScores(by_measure=by_measure, hits=scored.hits, sha256=digest))


def opened_scores(packed: bytes, plan: Plan, topics: int) -> RunScores:
    """The scores of `packed_scores`; topics: of the revision.

    Raises Invalid for what cannot be read or does not fit the plan: other judgments or measures than those
    that are missing, another number of topics, a score that is no number.
    """
    try:
        sent = msgspec.msgpack.decode(packed, type=PackedScores)
    except msgspec.MsgspecError:
        raise _unfit("cannot be read.") from None
    if sent.sha256 != _digest(sent.by_measure, sent.hits, packed_plan(plan)):
        raise _unfit("does not have its digest, or was computed from other judgments.")
    if set(sent.by_measure) - {measure["key"] for measure in plan.missing}:
        raise _unfit("has measures that nobody asked for.")
    # Labels that a reference has no runs for make no board.
    if (sent.hits is None) == plan.lacks_hits and not (sent.hits is None and plan.inputs.is_board):
        raise _unfit("has no judged hits, or has some that are here already.")
    # A cell of answers that nobody judged has no number, nor has a judge without a rank.
    is_score = np.isfinite if plan.inputs.are_of_documents else lambda values: ~np.isinf(values)
    scored = RunScores(
        {key: _opened(*pair, topics, is_score) for key, pair in sent.by_measure.items()}, sent.hits
    )
    if plan.inputs.is_board:
        # Where there are rankings only, no module of judges is ever loaded.
        for rule in import_module("leaderboard.services.judges.elsewhere").misfits(plan, scored):
            raise _unfit(rule)
    return scored


def _opened(
    scores: bytes, parts: bytes | None, topics: int, is_score: Callable[[Scores], Any]
) -> MeasureScores:
    if len(scores) != topics * DOUBLES.itemsize or (parts and len(parts) % len(scores)):
        raise _unfit(f"has not one score for each of {topics} topics.")
    values = np.frombuffer(scores, DOUBLES).astype(np.float64)
    if not is_score(values).all():
        raise _unfit("has a score that is no finite number.")
    shares = None if parts is None else np.frombuffer(parts, DOUBLES).astype(np.float64).reshape(-1, topics)
    return MeasureScores(values, shares)


def _doubles(values: Any) -> bytes:
    return np.ascontiguousarray(values, DOUBLES).tobytes()


def _digest(by_measure: Mapping[str, Pair], hits: bytes | None, plan: bytes) -> str:
    """Over lengths and bytes, so that no value can pass for a part of its neighbour."""
    digest = hashlib.sha256(hashlib.sha256(plan).digest())
    for key in sorted(by_measure):
        for part in (key.encode(), *by_measure[key]):
            digest.update(_measured(part))
    digest.update(_measured(hits))
    return digest.hexdigest()


def _measured(part: bytes | None) -> bytes:
    return b"-" if part is None else len(part).to_bytes(8, "big") + part


def _unfit(rule: str) -> Invalid:
    return Invalid(f"The result {rule}", [Problem(rule, "Install the site's version.", field="body")])
