"""Signatures of a site: what they fit, keys and their rotation, and what is public of them."""

import base64
import json
import string
from contextlib import suppress

import pytest

from leaderboard.core.policy import ANONYMOUS, OPERATOR
from leaderboard.db.engine import Database
from leaderboard.db.tables import SigningKey
from leaderboard.errors import Forbidden, Invalid, NotFound, SignInNeeded
from leaderboard.signatures import ops as signatures
from tests.make import keys
from tests.web.conftest import Site

DIGEST = "ab" * 32


@pytest.fixture
def signed(database: Database) -> bytes:
    """The signature file of a bundle with some digest."""
    with database.write() as session:
        signatures.ensure_key(session)
        signatures.ensure_key(session)
        assert len(signatures.keys(session)) == 1
        sign = signatures.signer(session)
    assert sign is not None
    return sign("bundle", DIGEST)


def test_a_signature_fits_what_was_signed_alone(signed: bytes) -> None:
    """Neither another digest nor the same one as that of a snapshot."""
    signature = signatures.read_signature(signed)
    assert signature.fits("bundle", DIGEST)
    assert not signature.fits("bundle", "cd" * 32)
    assert not signature.fits("snapshot", DIGEST)


def test_every_changed_byte_of_a_signature_is_noticed(signed: bytes) -> None:
    """Also of what is written around the signature."""
    for place in range(len(signed)):
        other = bytearray(signed)
        other[place] ^= 1
        with suppress(Invalid):
            assert not signatures.read_signature(bytes(other)).fits("bundle", DIGEST), place


@pytest.mark.parametrize("part", ["public", "signature"])
def test_base64_has_one_spelling(signed: bytes, part: str) -> None:
    """Another last character may stand for the same bytes: the file is refused all the same."""
    facts = json.loads(signed)
    text = facts[part].rstrip("=")
    letters = string.ascii_uppercase + string.ascii_lowercase + string.digits + "+/"
    other = text[:-1] + letters[letters.index(text[-1]) + 1] + "=" * (len(facts[part]) - len(text))
    assert base64.b64decode(other) == base64.b64decode(facts[part])
    with pytest.raises(Invalid):
        signatures.read_signature(signed.replace(facts[part].encode(), other.encode()))


def test_the_same_digest_has_the_same_signature(database: Database, signed: bytes) -> None:
    """A signature says nothing of when it was made."""
    with database.read() as session:
        sign = signatures.signer(session)
    assert sign is not None
    assert sign("bundle", DIGEST) == signed


def test_old_keys_stay_listed_without_their_private_half(database: Database, signed: bytes) -> None:
    """What they signed is verified for ever; nobody signs with them again."""
    with database.write() as session:
        made = signatures.rotate(session, OPERATOR)
    with database.read() as session:
        new, old = signatures.read_keys(signatures.keys_text(signatures.keys(session)))
        rows = session.query(SigningKey).order_by(SigningKey.id).all()
    assert (new.id, new.until) == (made, None)
    assert old.id == signatures.read_signature(signed).key
    assert old.until is not None
    assert [row.private is None for row in rows] == [True, False]


def test_only_the_operator_rotates(database: Database) -> None:
    """By a command."""
    with database.write() as session, pytest.raises((Forbidden, SignInNeeded, NotFound)):
        signatures.rotate(session, ANONYMOUS)


@pytest.mark.parametrize("text", ["", "short", "A" * 44, "not base64 !" * 4])
def test_what_is_no_key_is_refused(text: str) -> None:
    """With what a key looks like."""
    with pytest.raises(Invalid, match="is not a key"):
        signatures.read_key(text)


@pytest.mark.parametrize("text", [b"", b"[]", b'{"form": "leaderboard keys"}', b'{"form": 1, "keys": []}'])
def test_what_is_no_file_of_keys_is_refused(text: bytes) -> None:
    """Whatever it is instead."""
    with pytest.raises(Invalid, match="file of keys"):
        signatures.read_keys(text)


def test_the_site_lists_public_halves_alone(site: Site) -> None:
    """At the address that readers know."""
    body = site.app.test_client().get(signatures.ADDRESS).data
    assert [list(key) for key in json.loads(body)["keys"]] == [
        ["id", "algorithm", "public", "since", "until"]
    ]
    assert signatures._base64(keys.PRIVATE).encode() not in body


def test_editions_and_snapshots_have_signatures(site: Site) -> None:
    """Of the bytes next to them, as visitors read them; a draft has none."""
    client = site.app.test_client()
    body = client.get("/tasks/robots/editions/1.json").data
    address = f"/snapshots/{site.world.snapshot}"
    found = signatures.read_signature(client.get(f"{address}/signature.json").data)
    assert found.fits("snapshot", signatures.digest(client.get(f"{address}.json").data))
    found = signatures.read_signature(client.get("/tasks/robots/editions/1/signature.json").data)
    assert found.fits("edition", signatures.digest(body))
    for path in ("/tasks/robots/editions/9.json", "/tasks/draft/editions/1/signature.json"):
        assert client.get(path).status_code == 404
