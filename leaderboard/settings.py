"""Everything that can be set from outside, read once from LEADERBOARD_* variables."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from leaderboard.errors import Invalid

PREFIX = "LEADERBOARD_"
DATABASE_FILE = "leaderboard.sqlite3"


def _documented(default: Any, text: str) -> Any:
    return field(default=default, metadata={"help": text})


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of one process; each field's variable is LEADERBOARD_ and its name in capitals."""

    data: Path = _documented(Path("leaderboard-data"), "Folder of the SQLite database and temporary files.")
    database_url: str = _documented("", "Any SQLAlchemy URL; empty means SQLite in the data folder.")
    host: str = _documented("127.0.0.1", "Address the web server binds to.")
    port: int = _documented(8000, "Port the web server binds to.")
    public_url: str = _documented("", "The site's own https address when it stands behind a proxy.")
    trusted_hosts: str = _documented("", "Comma-separated host names answered; empty: any on loopback.")
    insecure_http: bool = _documented(False, "Allow sign-in over plain http on other than loopback.")
    evaluators: int = _documented(0, "Evaluator processes; 0 means one less than the processors, at least 1.")
    upload_bytes: int = _documented(512 * 2**20, "Largest upload accepted, as sent, in bytes.")
    plain_bytes: int = _documented(2 * 2**30, "Largest decompressed file accepted, in bytes.")
    inline_bytes: int = _documented(20 * 2**20, "Uploads up to this size are checked while the sender waits.")
    job_limit_s: int = _documented(600, "An evaluation running longer than this is stopped, in seconds.")
    lease_s: int = _documented(60, "How long a claimed job is left alone without a heartbeat, in seconds.")
    evaluator_memory: int = _documented(0, "Address-space limit of an evaluator in bytes; 0 means none.")

    @property
    def url(self) -> str:
        """The database's SQLAlchemy URL."""
        return self.database_url or f"sqlite:///{(self.data / DATABASE_FILE).resolve()}"

    @classmethod
    def from_env(cls, environ: Mapping[str, str] | None = None, **overrides: Any) -> "Settings":
        """The settings the environment asks for; overrides that are not None win.

        Raises Invalid where a variable does not read as its type.
        """
        source = os.environ if environ is None else environ
        values: dict[str, Any] = {}
        for item in fields(cls):
            name = PREFIX + item.name.upper()
            if name in source:
                values[item.name] = _read(name, source[name], item.default)
        values.update({key: value for key, value in overrides.items() if value is not None})
        return cls(**values)


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
