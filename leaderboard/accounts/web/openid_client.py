"""Client of OpenID Connect providers: requests and checks of responses.

The code flow with PKCE. The browser holds one secret in a cookie, from which state, nonce and verifier are
derived: nothing is stored for people who only begin, and an answer counts in the browser that asked alone.
Imported only where there are providers, as Authlib is an extra.
"""

import logging
import tomllib
from dataclasses import dataclass, fields
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import Any
from urllib.parse import urlsplit

import requests
from authlib.integrations.requests_client import OAuth2Session
from authlib.oidc.core import CodeIDToken
from cachetools import TTLCache, cached
from joserfc import jwt
from joserfc.jwk import KeySet

from leaderboard.accounts.ops.sessions import digest
from leaderboard.errors import Invalid
from leaderboard.settings import is_loopback

NAME = "LEADERBOARD_OPENID_FILE"


@dataclass(frozen=True, slots=True)
class Provider:
    """One provider, by the name of its table in the file."""

    key: str
    name: str
    issuer: str
    client_id: str
    client_secret: str


@cache
def read(file: str) -> dict[str, Provider]:
    """Key -> provider, as the file names them; empty without a file. It is read once a process.

    Raises Invalid where the file cannot be read, a value is missing or Authlib is not installed.
    """
    if not file:
        return {}
    if find_spec("authlib") is None or find_spec("requests") is None:
        raise Invalid(f"{NAME} needs Authlib: pip install 'ir-leaderboard[oidc]'.")
    try:
        tables = tomllib.loads(Path(file).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise Invalid(f"The file {file} of {NAME} cannot be read: {error}.") from None
    return {key: _provider(key, table) for key, table in tables.items()}


def _provider(key: str, table: Any) -> Provider:
    names = [field.name for field in fields(Provider) if field.name != "key"]
    if not isinstance(table, dict) or not all(isinstance(table.get(name), str) for name in names):
        raise Invalid(f"{NAME}: the table {key!r} needs the text values {', '.join(names)}.")
    provider = Provider(key, *(table[name] for name in names))
    if not is_safe(provider.issuer):
        raise Invalid(f"{NAME}: the issuer of {key!r} must be an https address.")
    return provider


def is_safe(address: str) -> bool:
    """Whether its answers can be trusted: over https, or on this machine."""
    parts = urlsplit(address)
    return parts.scheme == "https" or (parts.scheme == "http" and is_loopback(parts.hostname or ""))


log = logging.getLogger(__name__)

ALGORITHMS = ["RS256", "PS256", "ES256", "EdDSA"]
"""Signatures by a key of the provider: not `none`, and not HS256, whose secret does not prove who signed."""
TIMEOUT_S = 5.0
LEEWAY_S = 60
HOUR_S = 3600


def state_of(secret: str, purpose: str) -> str:
    """The state parameter, which binds the response to this browser and purpose."""
    return digest(f"state {purpose} {secret}")


def address(provider: Provider, secret: str, purpose: str, back: str) -> str:
    """The provider's authorization address; raises Invalid if the provider does not answer."""
    try:
        endpoint = _known(provider)["authorization_endpoint"]
        url, _ = _client(provider, back).create_authorization_url(
            endpoint,
            state=state_of(secret, purpose),
            nonce=digest(f"nonce {secret}"),
            code_verifier=digest(f"verifier {secret}"),
        )
    except Exception as error:
        raise _refused(provider, error) from None
    return str(url)


def subject(provider: Provider, secret: str, back: str, answer: dict[str, str]) -> str:
    """The user's subject id at the provider, after a response with the right state.

    Raises Invalid where it refuses, does not answer, or what it signed is not for this site and browser.
    """
    try:
        return _checked_subject(provider, secret, back, answer)
    except Exception as error:
        # Any error of the library or the provider must refuse the sign-in.
        raise _refused(provider, error) from None


def _checked_subject(provider: Provider, secret: str, back: str, answer: dict[str, str]) -> str:
    addresses = _known(provider)
    # RFC 9207: a response from another provider must not be accepted here.
    if answer.get("iss", provider.issuer) != provider.issuer:
        raise ValueError("the response came from another issuer")
    client = _client(provider, back)
    token = client.fetch_token(
        addresses["token_endpoint"],
        grant_type="authorization_code",
        code=answer["code"],
        redirect_uri=back,
        code_verifier=digest(f"verifier {secret}"),
        timeout=TIMEOUT_S,
        allow_redirects=False,
    )
    keys = KeySet.import_key_set(_json(addresses["jwks_uri"]))
    signed = jwt.decode(token["id_token"], keys, algorithms=ALGORITHMS)
    claims = CodeIDToken(
        signed.claims,
        signed.header,
        {
            "iss": {"essential": True, "value": provider.issuer},
            "aud": {"essential": True, "value": provider.client_id},
        },
        {"nonce": digest(f"nonce {secret}"), "client_id": provider.client_id},
    )
    claims.validate(leeway=LEEWAY_S)
    subject = claims["sub"]
    if not isinstance(subject, str) or not subject:
        raise ValueError("the subject is missing")
    return subject


def _client(provider: Provider, back: str) -> OAuth2Session:
    return OAuth2Session(
        provider.client_id,
        provider.client_secret,
        scope="openid",
        redirect_uri=back,
        code_challenge_method="S256",
    )


# Cached for an hour; fetching it at each sign-in would double the time.
@cached(TTLCache(maxsize=50, ttl=HOUR_S), lock=Lock())
def _known(provider: Provider) -> dict[str, Any]:
    """The provider's discovery address."""
    addresses: dict[str, Any] = _json(f"{provider.issuer.rstrip('/')}/.well-known/openid-configuration")
    if addresses["issuer"] != provider.issuer:
        raise ValueError(f"its issuer is {addresses['issuer']}")
    for name in ("authorization_endpoint", "token_endpoint", "jwks_uri"):
        if not is_safe(addresses[name]):
            raise ValueError(f"its {name} is not an https address")
    return addresses


def _json(url: str) -> Any:
    response = requests.get(url, timeout=TIMEOUT_S, allow_redirects=False)
    response.raise_for_status()
    return response.json()


def _refused(provider: Provider, error: Exception) -> Invalid:
    log.warning("%s did not identify a user: %s: %s", provider.key, type(error).__name__, error)
    return Invalid(f"{provider.name} did not identify you. Try again, or sign in another way.")
