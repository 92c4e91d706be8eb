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
    # Messages and logs may show the settings, but not secrets.
    return field(
        default=default, repr=not is_secret, metadata={"help": text, "choices": choices, "secret": is_secret}
    )


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a process; each field is set by LEADERBOARD_ and its name in capitals."""

    data: Path = _documented(Path("leaderboard-data"), "Folder of the SQLite database and temporary files.")
    database_url: str = _documented(
        "", "Any SQLAlchemy URL; empty means SQLite in the data folder.", is_secret=True
    )
    replica_url: str = _documented(
        "", "A PostgreSQL replica of the database, used for visitors' pages; empty: none.", is_secret=True
    )
    pool: int = _documented(
        5, "PostgreSQL connections that each process keeps open; it opens up to twice as many."
    )
    broker_url: str = _documented(
        "", "Job broker for `worker --celery`: redis://... or amqp://...; empty: none.", is_secret=True
    )
    objects_url: str = _documented(
        "",
        "Object store for large submitted files: s3://bucket/prefix, gs://..., az://... or "
        "file:///folder; empty: the database.",
    )
    objects_bytes: int = _documented(
        2**20, "Submitted files larger than this, in bytes, are moved to the object store; 0: none."
    )
    objects_keep_days: int = _documented(
        30, "Days for which unreferenced objects are kept, because older backups may need them."
    )
    host: str = _documented("127.0.0.1", "Address the web server binds to.")
    port: int = _documented(8000, "Port the web server binds to.")
    site_name: str = _documented("Leaderboard", "Name of the site, shown in its menu and page titles.")
    site_about: str = _documented(
        "", "Description of the site, one sentence on the home page; empty: a sentence on shared tasks."
    )
    site_logo: str = _documented(
        "", "Logo next to the name: an SVG, PNG, JPEG or WebP file, shown 24 pixels high; empty: none."
    )
    public_url: str = _documented("", "The public https address of the site behind a proxy.")
    trusted_hosts: str = _documented("", "Comma-separated valid host names; empty: only those of loopback.")
    insecure_http: bool = _documented(False, "Allow sign-in over plain http from other machines.")
    require_second_factor: bool = _documented(False, "Require two-factor authentication for organisers.")
    sign_up: str = _documented(
        OPEN,
        "Registration: open (everyone), invitation (with a link) or closed.",
        (OPEN, BY_INVITATION, CLOSED),
    )
    openid_file: str = _documented("", "TOML file of OpenID Connect providers for sign-in; empty: none.")
    operators: str = _documented(
        "organiser", "Comma-separated names of organiser accounts with access to the operator's pages."
    )
    first_account: str = _documented(
        "",
        "Name of the organiser and operator created at the first start of an empty site; empty: by a link.",
    )
    first_password_file: str = _documented("", "File with that account's password; required with it.")
    first_token_file: str = _documented(
        "", "File with an API token for that account, as printed by `leaderboard account token secret`."
    )
    assessor_link_days: int = _documented(
        180, "Days for which an assessor's link is valid; 0 means until revoked."
    )
    access_log: bool = _documented(True, "Log a line for every request.")
    log_format: str = _documented("text", "Log format: text or json, one event per line.")
    trusted_proxies: str = _documented(
        "127.0.0.0/8,::1,10.0.0.0/8,172.16.0.0/12,192.168.0.0/16,fc00::/7",
        "Comma-separated addresses and networks whose X-Forwarded headers are trusted.",
    )
    web_processes: int = _documented(
        0, "Web processes; 0 means one per processor, at most 4. On Windows there is one."
    )
    evaluators: int = _documented(0, "Evaluator processes; 0 means one less than the processors, at least 2.")
    comparisons: int = _documented(
        0, "Comparisons computed at once on the whole site; 0 means one less than evaluators, at least 1."
    )
    upload_bytes: int = _documented(512 * 2**20, "Maximum size of a submitted file, in bytes.")
    plain_bytes: int = _documented(2 * 2**30, "Maximum size of a decompressed file, in bytes.")
    inline_bytes: int = _documented(
        3 * 2**20, "Decompressed files up to this size, in bytes, are checked at once, without a job."
    )
    check_bytes: int = _documented(
        16 * 2**20,
        "Maximum size of decompressed rankings, in bytes, that accounts can check without submitting; "
        "for visitors and other files LEADERBOARD_INLINE_BYTES applies.",
    )
    free_bytes: int = _documented(200 * 2**20, "Free bytes in the data folder below which files are refused.")
    connections: int = _documented(2000, "Maximum open connections; idle ones are closed for new ones.")
    address_connections: int = _documented(
        100, "Maximum open connections per address, unless behind a proxy."
    )
    computed_pages: int = _documented(
        60, "Maximum computed pages per visitor's address per minute; 0: no limit."
    )
    kept_bytes: int = _documented(
        24 * 2**20,
        "Cache of each web process, in bytes, for pages, rankings, judgments and comparisons; 0: no cache.",
    )
    job_limit_s: int = _documented(600, "Time limit of an evaluation, in seconds.")
    lease_s: int = _documented(60, "Seconds without a heartbeat after which a claimed job is released.")
    lock_wait_s: int = _documented(30, "Seconds that a write waits for the database lock.")
    evaluator_memory: int = _documented(0, "Address-space limit of an evaluator in bytes; 0 means none.")
    smtp_url: str = _documented(
        "",
        "Mail server, such as smtp://user:password@host:587 or smtps://...; empty: no mail.",
        is_secret=True,
    )
    mail_from: str = _documented("", "Sender address of mail.")
    mails_an_hour: int = _documented(20, "Maximum mails per address per hour; further mails wait.")
    webhooks: bool = _documented(True, "Send events to the webhooks of tasks and teams; 0: none.")
    webhook_networks: str = _documented(
        "", "Comma-separated private networks that webhooks may reach, also over http; empty: none."
    )
    backup_every: str = _documented("", "Backup interval of `serve`, such as 6h; empty: no backups.")
    backup_keep: int = _documented(14, "Number of these backups to keep; older ones are deleted.")
    backup_folder: str = _documented("", "Folder of these backups; empty: `backups` in the data folder.")
    metrics_token: str = _documented(
        "", "Token for reading /metrics; empty: only this machine can read them.", is_secret=True
    )

    @property
    def url(self) -> str:
        """The database's SQLAlchemy URL."""
        return self.database_url or f"sqlite:///{(self.data / DATABASE_FILE).resolve()}"

    @property
    def address(self) -> str:
        """The site's own address as configured, without a trailing slash."""
        shown = f"[{self.host}]" if ":" in self.host else self.host
        return self.public_url.rstrip("/") or f"http://{shown}:{self.port}"

    @property
    def operator_names(self) -> tuple[str, ...]:
        """The configured names of the accounts that may open the operator's pages."""
        return tuple(name for name in (*self.operators.split(","), self.first_account) if name.strip())

    @property
    def web_slots(self) -> int:
        """Number of web processes on this machine."""
        if sys.platform == "win32":
            # Their shared memory needs file locks that end with their process, which Windows lacks.
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
        """The settings in the environment; overrides that are not None win.

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
    """A secret from the file that the environment names, as usual for containers; None: no file."""
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
