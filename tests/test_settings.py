"""Settings out of the environment and out of files."""

from dataclasses import fields
from pathlib import Path

import pytest

from leaderboard.cli.serving.serve import SHORTEST_TOKEN, require_safe
from leaderboard.errors import Invalid
from leaderboard.settings import PREFIX, Settings

SECRETS = [each.name for each in fields(Settings) if each.metadata["secret"]]


@pytest.mark.parametrize("name", SECRETS)
def test_a_secret_may_be_in_a_file(tmp_path: Path, name: str) -> None:
    """Without the line break at its end; not together with the variable itself."""
    file = tmp_path / "secret"
    file.write_text("a secret of some length\n")
    variable = f"{PREFIX}{name.upper()}"
    found = Settings.from_env({f"{variable}_FILE": str(file)})
    assert getattr(found, name) == "a secret of some length"
    with pytest.raises(Invalid, match=f"{variable} and {variable}_FILE are both set"):
        Settings.from_env({variable: "x", f"{variable}_FILE": str(file)})


def test_a_file_that_tells_no_secret_is_refused(tmp_path: Path) -> None:
    """One that is not there, not readable as text, or empty; the variable and the file are named."""
    name, file = "LEADERBOARD_METRICS_TOKEN_FILE", tmp_path / "secret"
    with pytest.raises(Invalid, match=rf"The file {file} of {name} cannot be read: No such file"):
        Settings.from_env({name: str(file)})
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(Invalid, match="it is not text in UTF-8"):
        Settings.from_env({name: str(file)})
    file.write_text("\n")
    with pytest.raises(Invalid, match="is empty"):
        Settings.from_env({name: str(file)})


@pytest.mark.parametrize("token", ["short", "x" * (SHORTEST_TOKEN - 1), f"with spaces {'x' * 20}", "é" * 20])
def test_a_token_that_may_be_guessed_or_not_sent_stops_the_start(tmp_path: Path, token: str) -> None:
    """The message says how to make one."""
    with pytest.raises(Invalid, match="openssl rand -hex 20"):
        require_safe(Settings(data=tmp_path / "none", metrics_token=token))
    require_safe(Settings(data=tmp_path / "none", metrics_token="x" * SHORTEST_TOKEN))
