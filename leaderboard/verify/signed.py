"""Signatures of a site, checked against its keys or against a key that the reader pinned."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from leaderboard.errors import Invalid
from leaderboard.signatures import ops as signatures
from leaderboard.signatures.ops import Kind, PublicKey
from leaderboard.verify.report import Report

UNSIGNED = (
    "It has no signature: it was made before sites signed, by a command, or with data that is not public."
)


@dataclass(frozen=True, slots=True)
class Trust:
    """Keys that are accepted, by name; is_pinned: whether the reader gave them, else the site did."""

    keys: Mapping[str, PublicKey]
    is_pinned: bool = False


def trust(keys: tuple[PublicKey, ...], *, is_pinned: bool = False) -> Trust:
    """The keys by their names."""
    return Trust({key.id: key for key in keys}, is_pinned)


def pinned(given: str) -> Trust:
    """The keys of a file, or one as Base64; raises Invalid for anything else."""
    path = Path(given)
    public_keys = (
        signatures.read_keys(path.read_bytes()) if path.is_file() else (signatures.read_key(given),)
    )  # fmt: skip
    return trust(public_keys, is_pinned=True)


@dataclass(frozen=True, slots=True)
class Signed:
    """What a file holds, and the file of its signature; None without one."""

    of: Kind
    body: Path
    file: Path | None


def check(report: Report, what: str, given: Signed, by: Trust) -> bool:
    """Note whether something is signed by an accepted key; False where it is not as it should be."""
    name = f"signature of {what}" if given.of != "bundle" else what
    if given.file is None:
        if by.keys:
            report.differs(name, "is missing, although " + _whose(by))
            return False
        report.unchecked[name] = UNSIGNED
        return True
    try:
        signature = signatures.read_signature(given.file.read_bytes())
    except Invalid as error:
        report.differs(name, error.message)
        return False
    with given.body.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    if not signature.fits(given.of, digest):
        report.differs(name, f"is not valid: key {signature.key} signed other content.")
        return False
    if by.keys and signature.key not in by.keys:
        report.differs(name, f"is by key {signature.key}, but " + _whose(by))
        return False
    report.signatures += 1
    report.note(f"{what}: signed by key {signature.key}{_since(by.keys.get(signature.key))}")
    if not by.keys:
        report.unchecked[f"whose key {signature.key} is"] = (
            f"Compare it with {signatures.ADDRESS} of the site, or give the site's key with --key."
        )
    return True


def _whose(by: Trust) -> str:
    names = ", ".join(by.keys)
    return f"the pinned key is {names}." if by.is_pinned else f"the site's keys are {names}."


def _since(key: PublicKey | None) -> str:
    if key is None or not key.since:
        return ""
    return (
        f", in use from {key.since[:10]} to {key.until[:10]}"
        if key.until
        else f", in use since {key.since[:10]}"
    )
