"""What is handed to a mail server, and what its words are taken for."""

from datetime import UTC, datetime

import pytest
from click.testing import CliRunner

from leaderboard.cli import main
from leaderboard.errors import Invalid
from leaderboard.notify.ops import mail
from leaderboard.notify.ops.mail import AGAIN, AWAY, BOUNCED, FAILED, SENT, Letter, is_address
from leaderboard.settings import Settings
from tests.make import smtp

LETTER = Letter(
    number=7,
    written_at=datetime(2026, 11, 1, tzinfo=UTC),
    to="ann@example.org",
    subject="Späte Läufe",
    body="Ä line.\n.\n" + "long " * 400 + "\nThe end.\n",
)


@pytest.mark.parametrize(
    ("url", "wanted"),
    [
        ("smtp://mail.example.org", ("mail.example.org", 25, False, True, "", "")),
        ("smtp://mail.example.org:2525?starttls=none", ("mail.example.org", 2525, False, False, "", "")),
        ("smtp://a%40b:p%3Aw@mail.example.org", ("mail.example.org", 587, False, True, "a@b", "p:w")),
        ("smtps://u:p@mail.example.org", ("mail.example.org", 465, True, False, "u", "p")),
        ("smtp://127.0.0.1", ("127.0.0.1", 25, False, False, "", "")),
    ],
)
def test_an_address_of_a_server_says_how_it_is_spoken_to(url: str, wanted: tuple[object, ...]) -> None:
    """Port and encryption follow from the kind of address; encryption is asked for unless it is refused."""
    found = mail.server_of(smtp.settings_of(url))
    assert found is not None
    assert (found.host, found.port, found.is_tls, found.starttls, found.user, found.password) == wanted


def test_settings_that_cannot_be_meant_are_refused_without_the_password() -> None:
    """Each fault names its variable, and none repeats what may hold a secret."""
    assert mail.server_of(Settings()) is None
    faults = {
        "http://secret@x": "LEADERBOARD_SMTP_URL",
        "smtp://": "LEADERBOARD_SMTP_URL",
        "smtp://x:secret": "LEADERBOARD_SMTP_URL",
        "smtp://u:secret@mail.example.org?starttls=none": "unencrypted",
        "smtp://x?starttls=maybe": "required or none",
    }
    for url, words in faults.items():
        with pytest.raises(Invalid, match=words) as refused:
            mail.server_of(smtp.settings_of(url))
        assert "secret" not in refused.value.message, url
    with pytest.raises(Invalid, match="LEADERBOARD_MAIL_FROM"):
        mail.server_of(Settings(smtp_url="smtp://127.0.0.1"))
    with pytest.raises(Invalid, match="LEADERBOARD_PUBLIC_URL"):
        mail.server_of(smtp.settings_of("smtp://127.0.0.1", host="0.0.0.0"))


def test_what_a_server_says_decides_what_becomes_of_a_letter() -> None:
    """Taken, refused for now or for good, unknown address, sender not welcome, nobody there."""
    with smtp.server() as (post, url):
        to = mail.server_of(smtp.settings_of(url))
        assert to is not None
        assert mail.send_mail(to, LETTER) == mail.MailResult(SENT, "250 2.0.0 taken")
        for words, state in {
            "450 4.2.1 try later": AGAIN,
            "550 5.1.1 no such user": BOUNCED,
            "554 5.7.1 relay denied": FAILED,
        }.items():
            post.answers = [words]
            assert mail.send_mail(to, LETTER) == mail.MailResult(state, words)
        for words, state in {"451 4.3.0 busy": AGAIN, "554 5.6.0 spam": FAILED}.items():
            post.data_answers = [words]
            assert mail.send_mail(to, LETTER) == mail.MailResult(state, words)
    assert mail.send_mail(to, LETTER).state == AWAY
    (letter,) = post.letters
    assert (letter["From"], letter["To"], letter["Subject"]) == (smtp.SENDER, LETTER.to, LETTER.subject)
    assert letter["Message-ID"] == "<7.1793491200.leaderboard@example.org>"
    assert letter.get_content().replace("\r\n", "\n") == LETTER.body
    assert all(line.isascii() and len(line) < 998 for line in post.raw[0].split(b"\r\n"))


def test_no_header_can_be_smuggled_in() -> None:
    """Line ends in a subject, an address or a body make no header and no second receiver."""
    to = mail.server_of(smtp.settings_of("smtp://127.0.0.1"))
    assert to is not None
    for end in ("\r\n", "\n", "\r", "\x0b", "\x0c", "\u2028", "\x85", "\x00"):
        evil = f"Hello{end}Bcc: all@example.org{end}{end}Body"
        made = mail.mail_message(
            to, Letter(number=1, written_at=LETTER.written_at, to="a@b", subject=evil, body=evil)
        )
        head = made.as_bytes().split(b"\r\n\r\n")[0]
        assert made["Bcc"] is None
        assert not any(line.lower().startswith(b"bcc") for line in head.splitlines()), end
        assert not is_address(f"ann@example.org{end}Bcc: all@example.org")
        assert not is_address(f"ann@example.org{end}")
    with pytest.raises(ValueError, match="Header"):
        mail.mail_message(
            to, Letter(number=1, written_at=LETTER.written_at, to="a@b\r\nBcc: c@d", subject="", body="")
        )


def test_the_command_prints_what_the_server_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """A letter that is taken ends in code 0; one that is not, or no server, in code 1 with the words."""

    def run(address: str = "ann@example.org") -> tuple[int, str]:
        done = CliRunner().invoke(main, ["mail", "test", address])
        return done.exit_code, done.output

    monkeypatch.delenv("LEADERBOARD_SMTP_URL", raising=False)
    assert run() == (1, "Error: LEADERBOARD_SMTP_URL is not set, so this site does not send mail.\n")
    with smtp.server() as (post, url):
        monkeypatch.setenv("LEADERBOARD_SMTP_URL", url)
        monkeypatch.setenv("LEADERBOARD_MAIL_FROM", smtp.SENDER)
        assert run()[0] == 0
        post.answers = ["550 5.1.1 no such user"]
        assert run()[1].endswith("answered: 550 5.1.1 no such user\n")
        assert run("ann")[0] == 1
    assert post.receivers == ["ann@example.org"]
