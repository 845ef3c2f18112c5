"""What a word that nobody knows may have been meant to be; only a mistake imports what finds it."""

from collections.abc import Iterable


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return a question to put behind a complaint, empty where nothing comes near."""
    import difflib

    close = difflib.get_close_matches(word, list(known), n=1)
    return f" (did you mean {close[0]}?)" if close else ""
