"""How a mail address is written."""

import re

LONGEST = 254
_ADDRESS = re.compile(
    r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*"
    r"@(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)*[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
)


def is_address(text: str) -> bool:
    r"""Whether the text is one plain mail address, in ASCII, without name, quotes or comments.

    >>> is_address("ann@example.org"), is_address("ann"), is_address("a@b\r\nBcc: c@d"), is_address("a b@c")
    (True, False, False, False)
    """
    return len(text) <= LONGEST and text.find("@") <= 64 and _ADDRESS.fullmatch(text) is not None
