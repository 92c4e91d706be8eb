"""Providers of OpenID Connect that the site's operator names in a file."""

import tomllib
from dataclasses import dataclass, fields
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

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
