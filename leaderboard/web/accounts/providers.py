"""Providers of OpenID Connect: which there are, asking one who somebody is, and checking what it answers.

The code flow with PKCE. The browser holds one secret in a cookie, of which state, nonce and verifier are
derived: nothing is stored for people who only begin, and an answer counts in the browser that asked alone.
"""

import logging
import tomllib
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from cachetools import TTLCache

from leaderboard.errors import Invalid
from leaderboard.services.accounts.sessions import digest
from leaderboard.settings import is_loopback

if TYPE_CHECKING:
    from authlib.integrations.requests_client import OAuth2Session

log = logging.getLogger(__name__)

NAME = "LEADERBOARD_OPENID_FILE"
ALGORITHMS = ["RS256", "PS256", "ES256", "EdDSA"]
"""Signatures by a key of the provider: not `none`, and not HS256, whose secret is no proof of who signed."""
TIMEOUT_S = 5.0
LEEWAY_S = 60
HOUR_S = 3600
_metadata: TTLCache[str, dict[str, Any]] = TTLCache(maxsize=50, ttl=HOUR_S)
"""Where a provider has its addresses: asking at each sign-in would take twice as long."""


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
    """Key -> provider, as the file names them; none where there is no file. It is read once a process.

    Raises Invalid where the file cannot be read, a value is missing or Authlib is not installed.
    """
    if not file:
        return {}
    try:
        import authlib  # noqa: F401

        tables = tomllib.loads(Path(file).read_text(encoding="utf-8"))
    except ImportError:
        raise Invalid(f"{NAME} needs Authlib: pip install 'ir-leaderboard[oidc]'.") from None
    except (OSError, ValueError) as error:
        raise Invalid(f"{NAME} names {file}, which cannot be read: {error}.") from None
    return {key: _provider(key, table) for key, table in tables.items()}


def _provider(key: str, table: Any) -> Provider:
    wanted = [field.name for field in fields(Provider) if field.name != "key"]
    if not isinstance(table, dict) or not all(isinstance(table.get(name), str) for name in wanted):
        raise Invalid(f"{NAME}: the table {key!r} needs the texts {', '.join(wanted)}.")
    provider = Provider(key, *(table[name] for name in wanted))
    if not _is_safe(provider.issuer):
        raise Invalid(f"{NAME}: the issuer of {key!r} must be an https address.")
    return provider


def _is_safe(address: str) -> bool:
    parts = urlsplit(address)
    return parts.scheme == "https" or (parts.scheme == "http" and is_loopback(parts.hostname or ""))


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
    from authlib.oidc.core import CodeIDToken
    from joserfc import jwt
    from joserfc.jwk import KeySet

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


def _client(provider: Provider, back: str) -> "OAuth2Session":
    from authlib.integrations.requests_client import OAuth2Session

    return OAuth2Session(
        provider.client_id,
        provider.client_secret,
        scope="openid",
        redirect_uri=back,
        code_challenge_method="S256",
    )


def _known(provider: Provider) -> dict[str, Any]:
    known = _metadata.get(provider.issuer)
    if known is None:
        known = _json(f"{provider.issuer.rstrip('/')}/.well-known/openid-configuration")
        if known["issuer"] != provider.issuer:
            raise ValueError(f"it calls itself {known['issuer']}")
        for name in ("authorization_endpoint", "token_endpoint", "jwks_uri"):
            if not _is_safe(known[name]):
                raise ValueError(f"its {name} is no https address")
        _metadata[provider.issuer] = known
    return known


def _json(url: str) -> Any:
    import requests

    response = requests.get(url, timeout=TIMEOUT_S, allow_redirects=False)
    response.raise_for_status()
    return response.json()


def _refused(provider: Provider, error: Exception) -> Invalid:
    log.warning("%s did not say who somebody is: %s: %s", provider.key, type(error).__name__, error)
    return Invalid(f"{provider.name} did not say who you are; try again, or sign in another way.")
