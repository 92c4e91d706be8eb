"""A headless Chromium, for tests and for the commands that measure and photograph pages."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, sync_playwright

NAMES = (
    *("chromium-headless-shell", "chromium", "chromium-browser"),
    *("google-chrome", "google-chrome-stable"),
)
"""The shell first: the same engine without the browser's own windows, at a fifth of the processor's time."""
MISSING = "no Chromium on this machine (Debian: apt-get install chromium-headless-shell)"


def find_chromium() -> str | None:
    """The path of a Chromium on this machine."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


@contextmanager
def headless(path: str) -> Iterator[Browser]:
    """The browser at a path, started and closed."""
    # Chromium's sandbox does not work for root, who runs containers and CI.
    options = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=path, args=[*options, "--disable-gpu"])
        try:
            yield opened
        finally:
            opened.close()
