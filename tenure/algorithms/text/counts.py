"""Write counts with their nouns."""


def format_count(number: int, noun: str, plural: str = "") -> str:
    """Return a count with its noun in singular or plural: "1 page", "2 searches"."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"
