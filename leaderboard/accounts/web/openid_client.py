"""Client of OpenID Connect providers: requests and checks of responses.

The code flow with PKCE. The browser holds one secret in a cookie, from which state, nonce and verifier are
derived: nothing is stored for people who only begin, and an answer counts in the browser that asked alone.
Imported only where there are providers, as Authlib is an extra.
"""

import logging
from threading import Lock
from typing import Any

import requests
from authlib.integrations.requests_client import OAuth2Session
from authlib.oidc.core import CodeIDToken
from cachetools import TTLCache, cached
from joserfc import jwt
from joserfc.jwk import KeySet

from leaderboard.accounts.ops.sessions import digest
from leaderboard.accounts.web.providers import Provider, is_safe
from leaderboard.errors import Invalid

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
