"""Whether a broker is set and can be used; does not depend on Celery, which may not be installed."""

from importlib.util import find_spec
from urllib.parse import urlsplit

from leaderboard.errors import Invalid
from leaderboard.settings import Settings

SCHEMES = ("redis", "rediss", "amqp", "amqps")
SETTING = "LEADERBOARD_BROKER_URL"


def require(settings: Settings) -> None:
    """Raise Invalid where a broker is set that cannot carry jobs: the message says what to do."""
    if not settings.broker_url:
        return
    scheme = urlsplit(settings.broker_url).scheme
    if scheme not in SCHEMES:
        raise Invalid(
            f"{SETTING} begins with {scheme + ':' if scheme else 'no scheme'}; "
            "it must begin with redis://, rediss://, amqp:// or amqps://."
        )
    if settings.url.startswith("sqlite"):
        raise Invalid(
            f"{SETTING} is set, but the database is SQLite, which other machines cannot open. Set "
            f"LEADERBOARD_DATABASE_URL to a PostgreSQL server, or unset {SETTING}: a single machine needs "
            "no broker."
        )
    packages = ("celery", "redis") if scheme.startswith("redis") else ("celery",)
    missing = [name for name in packages if find_spec(name) is None]
    if missing:
        raise Invalid(
            f"{SETTING} is set, but {' and '.join(missing)} cannot be imported. Run `pip install "
            "ir-leaderboard[celery]`, or unset it."
        )


def require_set(settings: Settings) -> None:
    """Raise Invalid where no broker is set, or one that cannot carry jobs."""
    if not settings.broker_url:
        raise Invalid(f"Set {SETTING} to the job broker, or leave out --celery: no broker is needed then.")
    require(settings)
