"""What the benchmark of paints says of a page of the demo."""

import pytest
from playwright.sync_api import Browser

from benchmarks import paint
from tests.browser.conftest import Demo

pytestmark = [pytest.mark.browser, pytest.mark.trial]


def test_a_page_is_painted_after_the_server_answered(browser: Browser, demo: Demo) -> None:
    """The answer, the first paint, the largest one; a page that is not there ends the benchmark."""
    seen = paint.painted(browser, demo.board, f"{demo.site}/measures")
    assert 0 < seen.waited < seen.first <= seen.largest
    assert seen.spent > 0
    with pytest.raises(SystemExit, match="was not shown"):
        paint.painted(browser, f"{demo.site}/nothing")
