"""SciPy's special functions, imported when the first is called: most commands and pages call none."""

from typing import Any


def __getattr__(name: str) -> Any:
    from scipy import special

    return getattr(special, name)
