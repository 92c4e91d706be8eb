"""Numbers in sentences."""


def counted(number: int, noun: str, plural: str = "") -> str:
    """A number of things in words, with separators; the plural is the noun with an s unless it is given.

    >>> counted(1, "topic"), counted(1200, "run"), counted(0, "entry", "entries")
    ('1 topic', '1,200 runs', '0 entries')
    """
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"
