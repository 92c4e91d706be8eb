"""Asking a provider of OpenID Connect who somebody is, and checking what it answers.

The code flow with PKCE. The browser holds one secret in a cookie, of which state, nonce and verifier are
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

from leaderboard.errors import Invalid
from leaderboard.services.accounts.sessions import digest
from leaderboard.web.accounts.providers import Provider, is_safe

log = logging.getLogger(__name__)

ALGORITHMS = ["RS256", "PS256", "ES256", "EdDSA"]
"""Signatures by a key of the provider: not `none`, and not HS256, whose secret is no proof of who signed."""
TIMEOUT_S = 5.0
LEEWAY_S = 60
HOUR_S = 3600


def state_of(secret: str, purpose: str) -> str:
    """What the provider is to send back: by it an answer is known to be for this browser and purpose."""
    return digest(f"state {purpose} {secret}")


def address(provider: Provider, secret: str, purpose: str, back: str) -> str:
    """Where the browser is sent to say who its user is; raises Invalid where the provider does not answer."""
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
    """Who the provider says it is, by its own id of them, after an answer whose state was right.

    Raises Invalid where it refuses, does not answer, or what it signed is not for this site and browser.
    """
    try:
        return _checked_subject(provider, secret, back, answer)
    except Exception as error:
        # Whatever the library or the provider did wrong, nobody is signed in by it.
        raise _refused(provider, error) from None


def _checked_subject(provider: Provider, secret: str, back: str, answer: dict[str, str]) -> str:
    known = _known(provider)
    # RFC 9207: another provider's answer must not be taken to this one's address.
    if answer.get("iss", provider.issuer) != provider.issuer:
        raise ValueError("the answer is another issuer's")
    client = _client(provider, back)
    token = client.fetch_token(
        known["token_endpoint"],
        grant_type="authorization_code",
        code=answer["code"],
        redirect_uri=back,
        code_verifier=digest(f"verifier {secret}"),
        timeout=TIMEOUT_S,
        allow_redirects=False,
    )
    keys = KeySet.import_key_set(_json(known["jwks_uri"]))
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
    found = claims["sub"]
    if not isinstance(found, str) or not found:
        raise ValueError("there is no subject")
    return found


def _client(provider: Provider, back: str) -> OAuth2Session:
    return OAuth2Session(
        provider.client_id,
        provider.client_secret,
        scope="openid",
        redirect_uri=back,
        code_challenge_method="S256",
    )


# Kept for an hour: asking at each sign-in would take twice as long.
@cached(TTLCache(maxsize=50, ttl=HOUR_S), lock=Lock())
def _known(provider: Provider) -> dict[str, Any]:
    """Where the provider has its addresses."""
    known: dict[str, Any] = _json(f"{provider.issuer.rstrip('/')}/.well-known/openid-configuration")
    if known["issuer"] != provider.issuer:
        raise ValueError(f"it calls itself {known['issuer']}")
    for name in ("authorization_endpoint", "token_endpoint", "jwks_uri"):
        if not is_safe(known[name]):
            raise ValueError(f"its {name} is no https address")
    return known


def _json(url: str) -> Any:
    response = requests.get(url, timeout=TIMEOUT_S, allow_redirects=False)
    response.raise_for_status()
    return response.json()


def _refused(provider: Provider, error: Exception) -> Invalid:
    log.warning("%s did not say who somebody is: %s: %s", provider.key, type(error).__name__, error)
    return Invalid(f"{provider.name} did not say who you are; try again, or sign in another way.")
