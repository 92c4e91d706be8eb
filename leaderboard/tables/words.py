"""Numbers in sentences."""


def lasting(seconds: float) -> str:
    """How long something has lasted, in the largest unit that there are two of.

    >>> [lasting(seconds) for seconds in (7, 119, 7200, 200_000)]
    ['7 seconds', '119 seconds', '2 hours', '2 days']
    """
    for unit, size in (("day", 86_400), ("hour", 3600), ("minute", 60)):
        if seconds >= 2 * size:
            return counted(int(seconds / size), unit)
    return counted(int(seconds), "second")


def counted(number: int, noun: str, plural: str = "") -> str:
    """A number of things in words, with separators; the plural is the noun with an s unless it is given.

    >>> counted(1, "topic"), counted(1200, "run"), counted(0, "entry", "entries")
    ('1 topic', '1,200 runs', '0 entries')
    """
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"
