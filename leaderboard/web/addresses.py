"""What an address says besides its path."""

from collections.abc import Iterable
from typing import Any

from flask import request


def kept(names: Iterable[str]) -> dict[str, Any]:
    """Those of the parameters that this request has, to be kept in links."""
    return {name: request.args[name] for name in names if name in request.args}
