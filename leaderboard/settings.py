"""Everything that can be set from outside, read once from LEADERBOARD_* variables."""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import lru_cache
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from leaderboard.errors import Invalid

PREFIX = "LEADERBOARD_"
DATABASE_FILE = "leaderboard.sqlite3"
MOST_WEB_PROCESSES = 4
"""Unless the setting says otherwise: each takes memory, and most sites have few readers at once."""

OPEN, BY_INVITATION, CLOSED = "open", "invitation", "closed"
"""Rules for creating accounts."""


def _documented(default: Any, text: str, choices: tuple[str, ...] = (), *, is_secret: bool = False) -> Any:
    # A secret is no part of what a message or a log may show of the settings.
    return field(
        default=default, repr=not is_secret, metadata={"help": text, "choices": choices, "secret": is_secret}
    )


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of one process; each field's variable is LEADERBOARD_ and its name in capitals."""

    data: Path = _documented(Path("leaderboard-data"), "Folder of the SQLite database and temporary files.")
    database_url: str = _documented(
        "", "Any SQLAlchemy URL; empty means SQLite in the data folder.", is_secret=True
    )
    replica_url: str = _documented(
        "",
        "A PostgreSQL server that follows the database: visitors' pages are read there; empty: none.",
        is_secret=True,
    )
    pool: int = _documented(
        5, "Connections to PostgreSQL that a process keeps open; it opens up to twice as many."
    )
    broker_url: str = _documented(
        "",
        "Broker that carries jobs to `worker --celery`: redis://... or amqp://...; empty: the database does.",
        is_secret=True,
    )
    objects_url: str = _documented(
        "",
        "Object store for large files as sent: s3://bucket/prefix, gs://..., az://... or file:///folder; "
        "empty: the database has them.",
    )
    objects_bytes: int = _documented(
        2**20, "Files over this size, as sent, in bytes, are moved to the object store; 0: none is."
    )
    objects_keep_days: int = _documented(
        30, "How long an object is left that nothing refers to, for backups that still do, in days."
    )
    host: str = _documented("127.0.0.1", "Address the web server binds to.")
    port: int = _documented(8000, "Port the web server binds to.")
    site_name: str = _documented("Leaderboard", "Name of the site, in its menu and the titles of its pages.")
    site_about: str = _documented(
        "", "What the site is, in one sentence on its first page; empty: a sentence on shared tasks."
    )
    site_logo: str = _documented(
        "", "Picture next to the name: an SVG, PNG, JPEG or WebP file, shown 24 pixels high; empty: none."
    )
    public_url: str = _documented("", "The site's own https address when it stands behind a proxy.")
    trusted_hosts: str = _documented("", "Comma-separated host names answered; empty: loopback's own.")
    insecure_http: bool = _documented(False, "Allow sign-in over plain http on other than loopback.")
    require_second_factor: bool = _documented(
        False, "Organisers may act as such only once they have a second factor."
    )
    sign_up: str = _documented(
        OPEN,
        "Who may make an account: open (everybody), invitation (who has a link) or closed (nobody).",
        (OPEN, BY_INVITATION, CLOSED),
    )
    openid_file: str = _documented(
        "", "TOML file of the OpenID Connect providers that accounts may sign in by; empty: none."
    )
    operators: str = _documented(
        "organiser", "Comma-separated names of organiser accounts that may open the operator's pages."
    )
    first_account: str = _documented(
        "",
        "Name of the organiser and operator that the first start of an empty site makes; empty: by a link.",
    )
    first_password_file: str = _documented("", "File of that account's password; needed with it.")
    first_token_file: str = _documented(
        "", "File of a token of the API for that account, as `leaderboard account token secret` prints it."
    )
    assessor_link_days: int = _documented(
        180, "How long the link of an assessor works, in days; 0 means until it is revoked."
    )
    access_log: bool = _documented(True, "Log a line for every request.")
    log_format: str = _documented("text", "Form of the log: text or json, one event a line.")
    trusted_proxies: str = _documented(
        "127.0.0.0/8,::1,10.0.0.0/8,172.16.0.0/12,192.168.0.0/16,fc00::/7",
        "Comma-separated addresses and networks whose X-Forwarded headers are believed.",
    )
    web_processes: int = _documented(
        0, "Web processes; 0 means as many as processors, at most 4. On Windows there is one."
    )
    evaluators: int = _documented(0, "Evaluator processes; 0 means one less than the processors, at least 2.")
    comparisons: int = _documented(
        0, "Comparisons computed at once on the whole site; 0 means one less than evaluators, at least 1."
    )
    upload_bytes: int = _documented(512 * 2**20, "Largest upload accepted, as sent, in bytes.")
    plain_bytes: int = _documented(2 * 2**30, "Largest decompressed file accepted, in bytes.")
    inline_bytes: int = _documented(
        3 * 2**20, "Files up to this size, decompressed, are checked while the sender waits."
    )
    check_bytes: int = _documented(
        16 * 2**20,
        "Rankings up to this size, decompressed, may be checked by accounts without being submitted; "
        "visitors' and other files up to that of LEADERBOARD_INLINE_BYTES.",
    )
    free_bytes: int = _documented(
        200 * 2**20, "Room the data folder must have for files to be taken, in bytes."
    )
    connections: int = _documented(2000, "Connections open at once; spare ones make room for new ones.")
    address_connections: int = _documented(100, "The same for one address, unless a proxy stands in front.")
    computed_pages: int = _documented(
        60, "Computed pages a visitor's address may ask for a minute; 0: any number."
    )
    kept_bytes: int = _documented(
        24 * 2**20,
        "Memory of each web process for all that it keeps to be fast: pages, rankings, judgments, "
        "comparisons; in bytes. 0: it keeps nothing.",
    )
    job_limit_s: int = _documented(600, "An evaluation running longer than this is stopped, in seconds.")
    lease_s: int = _documented(60, "How long a claimed job is left alone without a heartbeat, in seconds.")
    lock_wait_s: int = _documented(30, "How long a write waits for one that holds the database, in seconds.")
    evaluator_memory: int = _documented(0, "Address-space limit of an evaluator in bytes; 0 means none.")
    smtp_url: str = _documented(
        "",
        "Mail server, such as smtp://user:password@host:587 or smtps://...; empty: no mail.",
        is_secret=True,
    )
    mail_from: str = _documented("", "Address that mail comes from.")
    mails_an_hour: int = _documented(20, "Mails that one address is sent an hour; more wait.")
    webhooks: bool = _documented(
        True, "Send events to addresses that tasks and teams name; 0: nothing is sent there."
    )
    webhook_networks: str = _documented(
        "", "Comma-separated networks that webhooks may reach though private, over http too; empty: none."
    )
    backup_every: str = _documented("", "How often `serve` backs the site up, such as 6h; empty means never.")
    backup_keep: int = _documented(14, "How many of these backups are kept; the oldest is removed.")
    backup_folder: str = _documented("", "Where they are; empty means `backups` in the data folder.")
    metrics_token: str = _documented(
        "", "What Prometheus sends to read /metrics; empty: only this machine itself may.", is_secret=True
    )

    @property
    def url(self) -> str:
        """The database's SQLAlchemy URL."""
        return self.database_url or f"sqlite:///{(self.data / DATABASE_FILE).resolve()}"

    @property
    def address(self) -> str:
        """The site's own address as it is set, without a slash at its end."""
        shown = f"[{self.host}]" if ":" in self.host else self.host
        return self.public_url.rstrip("/") or f"http://{shown}:{self.port}"

    @property
    def operator_names(self) -> tuple[str, ...]:
        """The names of the accounts that may open the operator's pages, as they are set."""
        return tuple(name for name in (*self.operators.split(","), self.first_account) if name.strip())

    @property
    def web_slots(self) -> int:
        """Number of web processes on this machine."""
        if sys.platform == "win32":
            # What they share is held by locks of files that end with their process, which Windows has not.
            return 1
        return max(1, self.web_processes or min(MOST_WEB_PROCESSES, os.cpu_count() or 1))

    @property
    def evaluator_slots(self) -> int:
        """Number of evaluators on this machine."""
        return self.evaluators or max(2, (os.cpu_count() or 2) - 1)

    @property
    def comparisons_at_once(self) -> int:
        """Number of evaluators that may compare runs at once, so that one is left for runs."""
        return self.comparisons or max(1, self.evaluator_slots - 1)

    @classmethod
    def from_env(cls, environ: Mapping[str, str] | None = None, **overrides: Any) -> "Settings":
        """The settings the environment asks for; overrides that are not None win.

        Raises Invalid where a variable does not read as its type.
        """
        source = os.environ if environ is None else environ
        values: dict[str, Any] = {}
        for item in fields(cls):
            name = PREFIX + item.name.upper()
            text = _of_file(name, source) if item.metadata["secret"] else None
            text = source.get(name) if text is None else text
            if text is not None:
                values[item.name] = _read(name, text, item.default)
                _require_choice(name, text, item.metadata["choices"])
        values.update({key: value for key, value in overrides.items() if value is not None})
        return cls(**values)


# Of every request the name of the host is asked for.
@lru_cache(maxsize=64)
def is_loopback(host: str) -> bool:
    """Whether a host name or address is this machine's own.

    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _of_file(name: str, source: Mapping[str, str]) -> str | None:
    """A secret out of the file that the environment names, as containers are given theirs; None: no file."""
    path = source.get(f"{name}_FILE")
    if path is None:
        return None
    if name in source:
        raise Invalid(f"{name} and {name}_FILE are both set. Unset one of them.")
    return secret_of(Path(path), f"{name}_FILE")


def secret_of(path: Path, name: str) -> str:
    """The text of a file without the line break at its end; name is the variable that names the file.

    Raises Invalid where it cannot be read or holds nothing.
    """
    try:
        text = path.read_text(encoding="utf-8").rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not text in UTF-8"
        raise Invalid(f"The file {path} of {name} cannot be read: {reason}.") from None
    if not text:
        raise Invalid(f"The file {path} of {name} is empty. Write the secret into it.")
    return text


def _require_choice(name: str, text: str, choices: tuple[str, ...]) -> None:
    if choices and text not in choices:
        raise Invalid(f"{name} is {text!r}; it must be {', '.join(choices[:-1])} or {choices[-1]}.")


def _read(name: str, text: str, default: Any) -> Any:
    if isinstance(default, bool):
        if text.lower() in ("1", "true", "yes", "on"):
            return True
        if text.lower() in ("0", "false", "no", "off", ""):
            return False
        raise Invalid(f"{name} is {text!r}; it must be 1 or 0.")
    if isinstance(default, int):
        try:
            return int(text)
        except ValueError:
            raise Invalid(f"{name} is {text!r}; it must be a whole number.") from None
    return type(default)(text)
