"""The key of a site, the same wherever it is asked for."""

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from leaderboard.db.engine import Database, now
from leaderboard.db.tables import SigningKey

PRIVATE = bytes(range(32))


def give(database: Database) -> None:
    """Let a site have been started once."""
    public = Ed25519PrivateKey.from_private_bytes(PRIVATE).public_key().public_bytes_raw()
    with database.write() as session:
        session.add(SigningKey(public=public, private=PRIVATE, created_at=now(session)))
