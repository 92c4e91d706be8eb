"""Pictures of cards: their size, their letters, and that each is drawn once."""

import io
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from PIL import Image, ImageFont

from leaderboard.errors import Busy
from leaderboard.memory import Kept
from leaderboard.services.cards import HEIGHT, WIDTH, cards, draw
from leaderboard.services.cards.cards import CardText

TEXT = CardText("Robust", "robust", "4 runs", ("strong leads, RR 0.9500",), "10 topics")


@pytest.fixture(autouse=True)
def _nothing_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """No picture of another test is found."""
    monkeypatch.setattr(cards, "_kept", Kept("cards"))


def _opened(body: bytes) -> Image.Image:
    return Image.open(io.BytesIO(body), formats=["PNG"])


def test_a_card_is_a_small_picture_of_the_size_that_sites_ask_for() -> None:
    """A PNG of 1200 by 630 pixels, the same bytes for the same words and others for others."""
    body = cards.picture(TEXT)
    assert _opened(body).size == (WIDTH, HEIGHT) == (1200, 630)
    assert len(body) < 60_000
    assert cards.picture(CardText("Other", "robust", "4 runs", (), "")) != body


def test_a_card_is_drawn_once_however_many_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those who ask at once wait for the one that is drawn; later ones are given it."""
    drawn, real = [], cards._drawn
    everybody = threading.Barrier(4)

    def note(words: bytes) -> bytes:
        drawn.append(words)
        return real(words)

    def ask() -> bytes:
        everybody.wait()
        return cards.picture(TEXT)

    monkeypatch.setattr(cards, "_drawn", note)
    with ThreadPoolExecutor(4) as pool:
        bodies = {future.result() for future in [pool.submit(ask) for _ in range(4)]}
    assert (len(bodies), len(drawn)) == (1, 1)


def test_who_waits_too_long_is_told_to_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """While another one is drawn for ever nobody hangs, and what is kept is given all the same."""
    monkeypatch.setattr(cards, "WAIT_S", 0.01)
    kept = cards.picture(TEXT)
    with cards._turn:
        assert cards.picture(TEXT) == kept
        with pytest.raises(Busy):
            cards.picture(CardText("Other", "robust", "", (), ""))


def test_a_process_that_fails_is_no_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is kept of it, and the next who asks has it drawn again."""
    monkeypatch.setattr(cards, "MODULE", "leaderboard.nothing")
    with pytest.raises(subprocess.CalledProcessError):
        cards.picture(TEXT)
    assert len(cards._kept) == 0


def test_names_are_spelt_with_the_letters_that_there_are() -> None:
    """Of the library's own font: accents go, Greek is spelt out, and what is left over is left out."""
    has = draw._letters_of(ImageFont.load_default(40))
    assert draw.spelt("Fröbe’s Łódź – τ-run (検索)", has) == "Frobe’s Lodz - tau-run ()"
    assert draw.spelt("検索エンジン", has, "Run 5") == "Run 5"
    assert draw.spelt("\x00\u202e\U0001f600plain", has) == "plain"


@pytest.mark.parametrize("fonts", [draw.FONTS, ()])
def test_a_card_holds_any_name(fonts: tuple[tuple[str, str], ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """Long words, many facts and strange letters give a picture of the same size, in any font."""
    monkeypatch.setattr(draw, "FONTS", fonts)
    names = ("x" * 2000, "word " * 500, "検索" * 50, "\U0001f600\u0000\ud7ff", "", "अनुसंधान")
    for name in names:
        words = {"heading": name, "otherwise": "t", "below": name, "facts": [name] * 4, "basis": name}
        assert _opened(draw.drawn(words)).size == (WIDTH, HEIGHT)
