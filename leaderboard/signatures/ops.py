"""Ed25519 signatures (RFC 8032) of public snapshots, editions and bundles.

A signature covers a digest and its subject, so that one of a snapshot is not mistaken for one of a bundle.
Ed25519 is deterministic: the same bytes have the same signature, which does not include a time.
"""

import base64
import binascii
import hashlib
import json
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import Any, Literal

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.core import audit, policy
from leaderboard.core.policy import OPERATOR, Viewer
from leaderboard.db.engine import now
from leaderboard.db.tables import SigningKey
from leaderboard.errors import Invalid, NotFound

ADDRESS = "/.well-known/leaderboard-keys.json"
FORM, VERSION, ALGORITHM = "leaderboard signature", 1, "Ed25519"
KEYS_FORM = "leaderboard keys"
ID_DIGITS = 16
"""Hexadecimal digits of the digest of a public key that name it."""

Kind = Literal["snapshot", "edition", "bundle"]
Signer = Callable[[Kind, str], bytes]
"""Makes the signature file of what has a digest."""


@dataclass(frozen=True, slots=True)
class PublicKey:
    """A key as readers see it: its public half in Base64, and when the site signed with it."""

    id: str
    algorithm: str
    public: str
    since: str
    until: str | None
    """None while it is in use."""


@dataclass(frozen=True, slots=True)
class Signature:
    """A signature file: the signed digest, its subject, and the public key (Base64)."""

    of: str
    sha256: str
    public: str
    signature: str

    @property
    def key(self) -> str:
        """The name of the key."""
        return key_id(base64.b64decode(self.public))

    def text(self) -> bytes:
        """The file."""
        facts = {"form": FORM, "version": VERSION, "algorithm": ALGORITHM, "key": self.key, **asdict(self)}
        # Base64 has several spellings of the same bytes: the file has the usual one.
        usual = {name: _base64(base64.b64decode(facts[name])) for name in ("public", "signature")}
        return _as_json(facts | usual)

    def fits(self, of: Kind, sha256: str) -> bool:
        """Whether it is that of a digest, by the key that it names."""
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

        try:
            key = Ed25519PublicKey.from_public_bytes(base64.b64decode(self.public))
            key.verify(base64.b64decode(self.signature), _signed(of, sha256))
        except (InvalidSignature, ValueError):
            return False
        return (self.of, self.sha256) == (of, sha256)


def key_id(public: bytes) -> str:
    """What a key is called: the beginning of the digest of its public half."""
    return hashlib.sha256(public).hexdigest()[:ID_DIGITS]


def ensure_key(session: Session) -> None:
    """Make the first key of a site that has none."""
    if _current(session) is None:
        _add(session)


def rotate(session: Session, viewer: Viewer) -> str:
    """Sign with a new key from now on, and forget the private half of the old one; the new key's name."""
    policy.require_operator(viewer)
    old = _current(session)
    if old is not None:
        old.private, old.retired_at = None, now(session)
    key = _add(session)
    audit.record(session, viewer, "key.rotate", "site", key=key, before=_id(old) if old else None)
    return key


def keys(session: Session) -> tuple[PublicKey, ...]:
    """All keys of the site, the newest first."""
    rows = session.scalars(select(SigningKey).order_by(SigningKey.id.desc()))
    return tuple(
        PublicKey(
            id=_id(row),
            algorithm=ALGORITHM,
            public=_base64(row.public),
            since=row.created_at.isoformat(timespec="seconds"),
            until=row.retired_at.isoformat(timespec="seconds") if row.retired_at else None,
        )
        for row in rows
    )


def keys_text(public_keys: Iterable[PublicKey]) -> bytes:
    """The file of a site's keys."""
    return _as_json({"form": KEYS_FORM, "version": VERSION, "keys": [asdict(key) for key in public_keys]})


def has_key(session: Session) -> bool:
    """Whether the site can sign: it was started once."""
    return _current(session) is not None


def signer(session: Session) -> Signer | None:
    """What signs with the key in use, read now; None for a site that was never started."""
    row = _current(session)
    if row is None or row.private is None:
        return None
    private, public = row.private, _base64(row.public)
    return lambda of, sha256: Signature(
        of, sha256, public, _base64(_sign(private, _signed(of, sha256)))
    ).text()


def signature_of(session: Session, of: Kind, body: bytes) -> bytes:
    """The signature file of what visitors read; raises NotFound for a site without a key."""
    sign = signer(session)
    if sign is None:
        raise NotFound("This site has no key to sign with yet; it is made when the site is started.")
    return sign(of, digest(body))


def digest(body: bytes) -> str:
    """The digest of some bytes, which is what is signed of them."""
    return hashlib.sha256(body).hexdigest()


def read_signature(text: bytes) -> Signature:
    """A signature file; raises Invalid for anything but the bytes that a site writes."""
    try:
        facts = json.loads(text)
        signature = Signature(*(facts[name] for name in ("of", "sha256", "public", "signature")))
        # Bytes that no field is read from would be a place to change unseen.
        if signature.text() == text:
            return signature
    except (ValueError, TypeError, LookupError, AttributeError, binascii.Error):
        pass
    raise Invalid("It is not a signature file, or it was changed.")


def read_keys(text: bytes) -> tuple[PublicKey, ...]:
    """A file of keys; raises Invalid for anything else."""
    try:
        facts = json.loads(text)
        if facts["form"] == KEYS_FORM:
            return tuple(_read_key(each) for each in facts["keys"])
    except (ValueError, TypeError, LookupError, AttributeError):
        pass
    raise Invalid("It is not a file of keys.")


def read_key(public: str) -> PublicKey:
    """A key that a reader gives as Base64; raises Invalid for anything else."""
    try:
        raw = base64.b64decode(public, validate=True)
    except ValueError:
        raw = b""
    if len(raw) != 32:
        raise Invalid(f"{public[:60]!r} is not a key: give the `public` of one, or a file of keys.")
    return PublicKey(key_id(raw), ALGORITHM, _base64(raw), "", None)


def _read_key(facts: dict[str, Any]) -> PublicKey:
    key = read_key(str(facts["public"]))
    until = facts["until"]
    return PublicKey(
        key.id, ALGORITHM, key.public, str(facts["since"]), None if until is None else str(until)
    )


def _current(session: Session) -> SigningKey | None:
    query = select(SigningKey).where(SigningKey.retired_at.is_(None)).order_by(SigningKey.id.desc())
    return session.scalars(query.limit(1)).first()


def _add(session: Session) -> str:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    private_key = Ed25519PrivateKey.generate()
    row = SigningKey(
        public=private_key.public_key().public_bytes_raw(),
        private=private_key.private_bytes_raw(),
        created_at=now(session),
    )
    session.add(row)
    session.flush()
    audit.record(session, OPERATOR, "key.create", "site", key=_id(row))
    return _id(row)


def _id(row: SigningKey) -> str:
    return key_id(row.public)


def _sign(private: bytes, message: bytes) -> bytes:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    return Ed25519PrivateKey.from_private_bytes(private).sign(message)


def _signed(of: str, sha256: str) -> bytes:
    """The bytes that are signed."""
    return f"{FORM} {VERSION}\n{of}\n{sha256}\n".encode()


def _base64(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


def _as_json(facts: dict[str, Any]) -> bytes:
    return f"{json.dumps(facts, indent=1)}\n".encode()
