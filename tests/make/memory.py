"""What tests of a process share: temporary files in memory, compiled modules, less to clean up."""

import atexit
import gc
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from werkzeug.routing import Rule

from leaderboard.application import COMPILED

FOLDER = Path("/dev/shm")
TEMPLATES = "LEADERBOARD_COMPILED_TEMPLATES"
"""Of the environment: the folder in which processes of a run share templates that one of them compiled."""
ROOM = 4 * 2**30
"""Bytes that a whole run may need."""


def use_memory() -> None:
    """Make temporary files of this process and its children in memory, where there is room and no other wish.

    Half of the tests' time on a disk is waiting for it to be sure. What SQLite promises after a crash of a
    process holds in memory as well; none of the tests cuts the power.
    """
    if "TMPDIR" not in os.environ and is_fit(FOLDER):
        os.environ["TMPDIR"] = tempfile.tempdir = str(FOLDER)


def keep_bytecode() -> None:
    """Let the processes that tests start share the modules that one of them compiled.

    Where PYTHONDONTWRITEBYTECODE is set, as in many containers, each of some hundred sites and commands
    would compile all of the sources anew.
    """
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False


def share_templates() -> None:
    """Make the folder of compiled templates, in the first process of a run, which removes it at its end."""
    if TEMPLATES not in os.environ:
        os.environ[TEMPLATES] = tempfile.mkdtemp(prefix="templates-")
        atexit.register(shutil.rmtree, os.environ[TEMPLATES], ignore_errors=True)


def lend_templates(data: Path) -> None:
    """Let a site with that data folder, which may not be there yet, share compiled templates with all others.

    Otherwise each would compile all of them when it starts: four fifths of its processor time.
    """
    if TEMPLATES in os.environ and not (data / "tmp").exists():
        data.mkdir(mode=0o700, parents=True, exist_ok=True)
        (data / "tmp").mkdir(mode=0o700)
        (data / "tmp" / COMPILED).symlink_to(os.environ[TEMPLATES], target_is_directory=True)


def share_routes() -> None:
    """Write the function that builds a rule's address once for all applications of this process.

    Werkzeug compiles two for each of six hundred rules: most of the time in which an application is made.
    """
    real = Rule._compile_builder
    written: dict[tuple[object, ...], Callable[..., tuple[str, str]]] = {}

    def compile_builder(rule: Rule, append_unknown: bool = True) -> Callable[..., tuple[str, str]]:
        if rule.defaults:
            return real(rule, append_unknown)
        key = rule.rule, tuple(rule._trace), append_unknown
        if key not in written:
            written[key] = real(rule, append_unknown)
        return written[key]

    Rule._compile_builder = compile_builder  # type: ignore[method-assign]


def collect_rarely() -> None:
    """Look for cycles of garbage a hundred times less often: modules and tests live until the end anyway.

    With Python's own threshold a fifth of the tests' time goes into looking through them.
    """
    gc.set_threshold(100_000, 20, 50)


def is_fit(folder: Path) -> bool:
    """Whether programs in the folder may be run and a whole run of the tests has room."""
    if not os.access(folder, os.W_OK):
        return False
    is_executable = not os.statvfs(folder).f_flag & os.ST_NOEXEC
    return is_executable and shutil.disk_usage(folder).free > ROOM
