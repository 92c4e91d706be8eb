"""People of a shared task, each in a browser window of their own that counts what they do."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from playwright.sync_api import Browser, Locator, Page, Response

from tests.browser.conftest import PATIENCE_MS, follow

PASSWORD = "rivers and seven hills"


@dataclass
class Person:
    """Somebody with a browser: what they click, type and choose is counted; faults of pages are kept."""

    name: str
    page: Page
    clicks: int = 0
    fields: int = 0
    files: int = 0
    faults: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Listen for errors of scripts and of the server."""
        self.page.on("pageerror", lambda error: self.faults.append(f"{self.name}: {error}"))
        self.page.on("response", self._look)

    def _look(self, response: Response) -> None:
        if response.status >= 500 or response.status == 404:
            self.faults.append(f"{self.name}: {response.status} at {response.url}")

    @property
    def main(self) -> Locator:
        """The page's own part."""
        return self.page.get_by_role("main")

    def open(self, address: str) -> None:
        """Go to an address that was handed over."""
        self.page.goto(address)

    def follow(self, *links: str) -> None:
        """Click links by their words, one after the other."""
        for words in links:
            self._open_menu(words)
            self.clicks += 1
            follow(self.page.get_by_role("link", name=words, exact=True).first)

    def _open_menu(self, words: str) -> None:
        """Open the menu that holds a link, unless the link stands on the page itself."""
        link = self.page.get_by_role("link", name=words, exact=True, include_hidden=True)
        if link.count() and not link.locator("visible=true").count():
            self.clicks += 1
            self.page.locator("details.menu").filter(has=link).first.locator("summary").click()

    def download(self, words: str) -> Path:
        """Click a link to a file; where that is kept."""
        self._open_menu(words)
        self.clicks += 1
        with self.page.expect_download() as download:
            self.page.get_by_role("link", name=words, exact=True).first.click()
        return download.value.path()

    def press(self, button: str) -> None:
        """Click a button by its words."""
        self.clicks += 1
        follow(self.main.get_by_role("button", name=button, exact=True).first)

    def unfold(self, words: str) -> None:
        """Open the folded part of that title, if it is closed."""
        folded = self.main.locator("summary", has_text=re.compile(f"^{re.escape(words)}")).first
        if folded.locator("..").get_attribute("open") is None:
            self.clicks += 1
            folded.click()

    def choose(self, words: str) -> None:
        """Click a radio button or a box."""
        self.clicks += 1
        self.main.get_by_label(words).first.check()

    def type(self, values: Mapping[str, str]) -> None:
        """Type into fields that are seen, by their labels."""
        for label, value in values.items():
            self.fields += 1
            self._seen(label).fill(value)

    def pick(self, label: str, option: str) -> None:
        """Choose of a list."""
        self.clicks += 1
        self._seen(label).select_option(option)

    def attach(self, label: str, *paths: Path) -> None:
        """Choose files."""
        self.files += len(paths)
        self._seen(label).set_input_files(paths)

    def _seen(self, label: str) -> Locator:
        return self.main.get_by_label(re.compile(f"^{re.escape(label)}")).locator("visible=true").first

    def says(self, words: str) -> bool:
        """Whether the page has these words."""
        return words in self.main.inner_text()


class Crowd:
    """Opens a window for each person and closes all of them."""

    def __init__(self, browser: Browser) -> None:
        self.browser = browser
        self.people: list[Person] = []

    def person(self, name: str) -> Person:
        """Somebody new, with a browser that knows nothing."""
        context = self.browser.new_context()
        context.set_default_timeout(PATIENCE_MS)
        self.people.append(Person(name, context.new_page()))
        return self.people[-1]

    def faults(self) -> list[str]:
        """What went wrong in any window."""
        return [fault for person in self.people for fault in person.faults]

    def leave(self) -> None:
        """Close the windows; a test that fails says what stood in them."""
        for person in self.people:
            print(
                f"{person.name} left {person.page.url}:",
                person.page.locator("body").inner_text()[:3000],
                sep="\n",
            )
            person.page.context.close()
