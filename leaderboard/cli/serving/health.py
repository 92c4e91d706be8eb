"""`leaderboard health`: whether the site of these settings works, for a container or a script."""

import http.client
import json
from contextlib import closing
from urllib.parse import urlsplit

import click

from leaderboard.settings import Settings

TIMEOUT_S = 9.0
EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}


@click.command()
@click.option("--port", type=click.IntRange(1, 65535), help="Port of the site [8000].")
def health(port: int | None) -> None:
    """Check that the site on this machine works; if not, print the reason and exit with code 1.

    The request goes directly to LEADERBOARD_HOST and LEADERBOARD_PORT, not through a proxy.
    """
    settings = Settings.from_env(port=port)
    host = EVERYWHERE.get(settings.host, settings.host)
    try:
        status, answer = _asked(host, settings.port, name_of(settings) or host)
    except (OSError, http.client.HTTPException) as error:
        raise click.ClickException(f"No answer from {host}:{settings.port}: {error}") from None
    if status != 200:
        raise click.ClickException(f"The site returned HTTP status {status}: {answer}")
    click.echo("ok")


def name_of(settings: Settings) -> str:
    """A name that the site answers to; empty where it answers to loopback's own."""
    if settings.public_url:
        return urlsplit(settings.public_url).netloc
    return next((name.strip() for name in settings.trusted_hosts.split(",") if name.strip()), "")


def _asked(host: str, port: int, name: str) -> tuple[int, str]:
    """Status and reason of /healthz, asked by that name."""
    with closing(http.client.HTTPConnection(host, port, timeout=TIMEOUT_S)) as connection:
        connection.request("GET", "/healthz", headers={"Host": name, "Accept": "application/json"})
        answer = connection.getresponse()
        text = answer.read().decode(errors="replace")
    try:
        return answer.status, str(json.loads(text).get("reason", ""))
    except (ValueError, AttributeError):
        return answer.status, answer.reason
