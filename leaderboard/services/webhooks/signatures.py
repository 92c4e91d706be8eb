"""Secrets and signatures of webhooks, as Standard Webhooks 1.0.0 have them."""

import hmac
import secrets
from base64 import b64decode, b64encode
from collections.abc import Iterable
from datetime import datetime

PREFIX = "whsec_"
SECRET_BYTES = 32
"""The specification takes 24 to 64."""


def new_secret() -> str:
    """A new secret, as its owner is shown it."""
    return PREFIX + b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


def new_message() -> str:
    """What a delivery is known by: random, as a number would tell how much happens elsewhere."""
    return f"msg_{secrets.token_hex(16)}"


def headers(message: str, at: datetime, body: bytes, signing: Iterable[str]) -> dict[str, str]:
    """The headers of one attempt; with two secrets, while one takes over, there is a signature by each.

    Source: Standard Webhooks 1.0.0, "Signature scheme" and "Webhook headers": HMAC-SHA256 of id, timestamp
    in whole seconds and body, joined by full stops.
    """
    seconds = int(at.timestamp())
    signed = f"{message}.{seconds}.".encode() + body
    signatures = (hmac.digest(b64decode(secret.removeprefix(PREFIX)), signed, "sha256") for secret in signing)
    return {
        "webhook-id": message,
        "webhook-timestamp": str(seconds),
        "webhook-signature": " ".join(f"v1,{b64encode(made).decode()}" for made in signatures),
    }
