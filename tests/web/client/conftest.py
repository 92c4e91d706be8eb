"""A site behind its own server, for a client that knows nothing of it but its address."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from leaderboard_submit import Client, cli, common

from tests.make import build, worlds
from tests.make.servers import HOST, served
from tests.web.api.conftest import Programs, program
from tests.web.conftest import Site

__all__ = ["program"]


@dataclass(frozen=True)
class Command:
    """The command, on a machine that keeps what it logs in to."""

    folder: Path

    def __call__(self, *words: object) -> Result:
        """What the command prints, with its exit code."""
        return CliRunner().invoke(cli.main, list(map(str, words)))

    def file(self, name: str = "bm25.run", text: str = worlds.RUN) -> Path:
        """A file to send; its tag is its name, unless the text has another."""
        path = self.folder / name
        path.write_text(text.replace(" tag\n", f" {path.stem}\n"))
        return path


@pytest.fixture
def address(site: Site) -> Iterator[str]:
    """Where the filled site is served."""
    with served(site.app, site.settings) as running:
        yield f"http://{HOST}:{running.port}"


@pytest.fixture
def clients(site: Site, address: str) -> Callable[..., Client]:
    """Makes clients; while they wait the runs are scored."""
    return partial(Client, sleep=lambda _: build.drain(site.database))


@pytest.fixture
def client(address: str, clients: Callable[..., Client], program: Programs) -> Client:
    """Berta's, of the Owls."""
    return clients(address, program("Berta").secret)


@pytest.fixture
def command(
    address: str,
    clients: Callable[..., Client],
    program: Programs,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Command:
    """The command of Berta, by environment variables, in a folder of its own."""
    for module in (cli, common):
        monkeypatch.setattr(module, "Client", clients)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("LEADERBOARD_URL", address)
    monkeypatch.setenv("LEADERBOARD_TOKEN", program("Berta").secret)
    monkeypatch.chdir(tmp_path)
    return Command(tmp_path)
