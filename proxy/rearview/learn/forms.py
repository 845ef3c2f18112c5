"""The form of a value in words: a mask such as `####-##-##` is never shown, a small model copies it as it stands."""

import re
from collections.abc import Mapping

MASKS = {
    "####-##-##": "date_dashes",
    "####/##/##": "date_slashes",
    "####.##.##": "date_dots",
    "########": "date_digits",
    "####-##-##T##:##": "datetime_t_minutes",
    "####-##-##T##:##:##": "datetime_t",
    "####-##-##T##:##:##Z": "datetime_utc",
    "####-##-##T##:##Z": "datetime_utc_minutes",
    "####-##-## ##:##": "datetime_blank_minutes",
    "####-##-## ##:##:##": "datetime_blank",
    "##:##": "clock",
    "##:##:##": "clock_seconds",
    "##########": "unix",
}
_RUNS = re.compile(r"#+|[A-Za-z]+|.")
_RUNS_LIMIT = 7
_RUN_CHARS = 12
_SEPARATORS = {
    "-": "dash",
    "/": "slash",
    ".": "dot",
    ":": "colon",
    "_": "underscore",
    " ": "space",
    "@": "at",
    "+": "plus",
}


def form_in_words(form: str, words: Mapping[str, str]) -> str | None:
    """`form` (a mask, value class or JSON type) in the words of one language; None for a form without a name.

    The letters of a mask come from another call's value, so only their number is told.
    """
    form = form.partition("^")[0]
    key = MASKS.get(form, form)
    if key in words:
        return words[key]
    return _spelled(form, words) if "#" in form else None


def _spelled(mask: str, words: Mapping[str, str]) -> str | None:
    runs = _RUNS.findall(mask)
    if len(runs) > _RUNS_LIMIT or any(len(run) > _RUN_CHARS for run in runs):
        return None
    told = []
    for run in runs:
        if run[0] == "#" or run[0].isalpha():
            name = "digit" if run[0] == "#" else "letter"
            told.append(words[name if len(run) == 1 else name + "s"].format(n=words.get(str(len(run)), len(run))))
        elif run in _SEPARATORS:
            told.append(words[_SEPARATORS[run]])
        else:
            return None
    return words["then"].join(told)
