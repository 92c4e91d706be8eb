"""Costs with their units: what people write, such as "1.2 GB", and one unit each to keep and compare."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

LONGEST = 60
_QUANTITY = re.compile(r"(\d{1,30}(?:\.\d{0,30})?(?:[eE][+-]?\d{1,3})?)\s*([A-Za-zµμ]*)")
_EACH = re.compile(r"\s*(?:/|per|a)\s*(?:topic|query)$")


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit as it is shown, and how many of the kept unit it is."""

    name: str
    factor: float


@dataclass(frozen=True, slots=True)
class Dimension:
    """What is measured: the unit it is kept in, those it may be written in, those it is shown in."""

    kept: str
    written: Mapping[str, float]
    shown: tuple[Unit, ...]
    """From the smallest to the largest."""
    most: float
    exact_case: bool = False
    example: str = field(default="")

    def read(self, text: str) -> float | None:
        """The value in the kept unit; None for what is not a quantity, or cannot be true.

        A number alone is in the kept unit; "a topic" and "per query" may follow.

        >>> SIZE.read("1.2 GB"), SIZE.read("2 KiB"), DURATION.read("0.5 s per topic"), ENERGY.read("1,5")
        (1200000000.0, 2048.0, 500.0, None)
        """
        if len(text) > LONGEST:
            return None
        match = _QUANTITY.fullmatch(_EACH.sub("", text.strip()))
        if match is None:
            return None
        unit = match[2].replace("μ", "µ")
        factor = self.written.get(unit if self.exact_case else unit.lower()) if unit else 1.0
        return None if factor is None else self.checked(float(match[1]) * factor)

    def checked(self, value: float) -> float | None:
        """The value where it can be true: finite, not negative, and not absurdly large."""
        return value if math.isfinite(value) and 0.0 <= value <= self.most else None

    def words(self, value: float) -> str:
        """A value with the unit that suits it, to three digits or more.

        >>> SIZE.words(1.2e9), DURATION.words(0.5), DURATION.words(90000.0), ENERGY.words(0.0)
        ('1.2 GB', '500 µs', '90 s', '0 Wh')
        """
        unit = self.unit([value])
        return f"{digits(value / unit.factor)} {unit.name}"

    def unit(self, values: Sequence[float]) -> Unit:
        """The unit to show values in: the largest in which the middle one is at least 1.

        >>> DURATION.unit([5.0, 1500.0, 2000.0]).name, ENERGY.unit([]).name
        ('s', 'Wh')
        """
        known = sorted(value for value in values if value > 0)
        plain = next(unit for unit in self.shown if unit.factor == 1.0)
        if not known:
            return plain
        middle = known[len(known) // 2]
        fitting = [unit for unit in self.shown if middle >= unit.factor]
        return fitting[-1] if fitting else self.shown[0]


def digits(value: float) -> str:
    """A number with three significant digits, more where it is large.

    >>> digits(1.23456), digits(0.004), digits(12345.6), digits(100.0)
    ('1.23', '0.004', '12,346', '100')
    """
    if value == 0:
        return "0"
    places = max(0, 2 - math.floor(math.log10(abs(value))))
    text = f"{value:,.{min(places, 12)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


DURATION = Dimension(
    kept="ms",
    written={
        "us": 1e-3,
        "µs": 1e-3,
        "ms": 1.0,
        "s": 1e3,
        "sec": 1e3,
        "seconds": 1e3,
        "min": 6e4,
        "minutes": 6e4,
        "h": 3.6e6,
        "hours": 3.6e6,
    },
    shown=(Unit("µs", 1e-3), Unit("ms", 1.0), Unit("s", 1e3)),
    most=1e12,
    example="12.5 ms",
)
SIZE = Dimension(
    kept="bytes",
    written={
        "b": 1.0,
        "byte": 1.0,
        "bytes": 1.0,
        "kb": 1e3,
        "mb": 1e6,
        "gb": 1e9,
        "tb": 1e12,
        "pb": 1e15,
        "kib": 2.0**10,
        "mib": 2.0**20,
        "gib": 2.0**30,
        "tib": 2.0**40,
    },
    shown=(Unit("bytes", 1.0), Unit("kB", 1e3), Unit("MB", 1e6), Unit("GB", 1e9), Unit("TB", 1e12)),
    most=1e18,
    example="1.2 GB",
)
ENERGY = Dimension(
    kept="Wh",
    written={
        "mWh": 1e-3,
        "Wh": 1.0,
        "kWh": 1e3,
        "MWh": 1e6,
        "mJ": 1e-3 / 3600,
        "J": 1 / 3600,
        "kJ": 1e3 / 3600,
        "MJ": 1e6 / 3600,
    },
    shown=(Unit("mWh", 1e-3), Unit("Wh", 1.0), Unit("kWh", 1e3), Unit("MWh", 1e6)),
    most=1e12,
    exact_case=True,
    example="3.5 Wh",
)
