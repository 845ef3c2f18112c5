"""Dates and times that can be read in one way only, and how to write them in another form."""

import re
from datetime import UTC, date, datetime, time, timedelta, timezone
from typing import NamedTuple

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_NAME = r"(?P<name>[A-Za-z]{3,9})\.?"
_CLOCK = (
    r"(?:[T ,]+(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:\.\d{1,9})?)?"
    r" ?(?P<half>[AaPp][Mm])? ?(?P<zone>Z|UTC|GMT|[+\-]\d{2}:?\d{2})?)?"
)
_DATES = tuple(
    re.compile(pattern + _CLOCK)
    for pattern in (
        r"(?P<year>\d{4})-(?P<month>\d{1,2})-(?P<day>\d{1,2})",
        r"(?P<year>\d{4})[/.](?P<month>\d{1,2})[/.](?P<day>\d{1,2})",
        r"(?P<year>(?:19|20)\d{2})(?P<month>\d{2})(?P<day>\d{2})",
        rf"(?P<day>\d{{1,2}})(?:st|nd|rd|th)?[ \-]{_NAME},?[ \-](?P<year>\d{{4}})",
        rf"{_NAME} (?P<day>\d{{1,2}})(?:st|nd|rd|th)?,? (?P<year>\d{{4}})",
        "(?P<year>\\d{4})\u5e74(?P<month>\\d{1,2})\u6708(?P<day>\\d{1,2})[\u65e5\u53f7]",
        r"(?P<first>\d{1,2})[/.\-](?P<second_>\d{1,2})[/.\-](?P<year>\d{4})",
    )
)
_TIME = re.compile(
    r"(?P<hour>\d{1,2})(?:[:.](?P<minute>\d{2}))?(?::(?P<second>\d{2}))?(?: ?(?P<half>[AaPp]\.?[Mm]\.?))?"
)
_UNIX = re.compile(r"1\d{9}")
_WORDS = {"noon": time(12), "midnight": time(0)}
_LONGEST_CHARS = 40
_NOON = 12
_FIRST_YEAR = 1000
_LAST_YEAR = 9999

# Mask of a good value (digits blanked) -> how to write it.
_FORMS = {
    "####-##-##": "%Y-%m-%d",
    "####/##/##": "%Y/%m/%d",
    "####.##.##": "%Y.%m.%d",
    "########": "%Y%m%d",
    "####-##-##T##:##": "%Y-%m-%dT%H:%M",
    "####-##-##T##:##:##": "%Y-%m-%dT%H:%M:%S",
    "####-##-## ##:##": "%Y-%m-%d %H:%M",
    "####-##-## ##:##:##": "%Y-%m-%d %H:%M:%S",
}
_ZONED = {"####-##-##T##:##:##Z": "%Y-%m-%dT%H:%M:%SZ", "####-##-##T##:##Z": "%Y-%m-%dT%H:%MZ"}
_CLASSES = {"date": "####-##-##", "time": "##:##"}


class Moment(NamedTuple):
    """What a text says of a day and a time of day; a part that it does not say is None."""

    day: date | None
    clock: time | None
    zone: timezone | None


def moment_of(text: str) -> Moment | None:
    """The date or time that `text` says, None when it could be read in two ways (`03/04/2026`)."""
    text = text.strip()
    if not text or len(text) > _LONGEST_CHARS:
        return None
    if text.lower() in _WORDS:
        return Moment(None, _WORDS[text.lower()], None)
    try:
        for pattern in _DATES:
            if found := pattern.fullmatch(text):
                day = _day(found.groupdict())
                return None if day is None else Moment(day, _clock(found), _zone(found["zone"]))
        if found := _TIME.fullmatch(text):
            return _time_alone(found)
    except ValueError:
        return None
    return None


def in_form(text: str, form: str) -> str | None:
    """`text` written as the mask or value class `form` has it; None when that is unclear, or would invent something."""
    moment = moment_of(text)
    form = _CLASSES.get(form, form)
    if moment is None:
        return _from_unix(text, form)
    if form in ("##:##", "##:##:##") and moment.day is None and moment.clock is not None:
        return _clock_in(moment.clock, form)
    if form in _FORMS:
        return _day_in(moment, _FORMS[form])
    return _zoned(moment, form)


def _zoned(moment: Moment, form: str) -> str | None:
    if (
        moment.day is None
        or not _FIRST_YEAR < moment.day.year < _LAST_YEAR
        or moment.clock is None
        or moment.zone is None
    ):
        return None
    at = datetime.combine(moment.day, moment.clock, moment.zone)
    if form in _ZONED:
        return at.astimezone(UTC).strftime(_ZONED[form])
    return str(int(at.timestamp())) if form in ("##########", "unix") else None


def _day_in(moment: Moment, written: str) -> str | None:
    if moment.day is None:
        return None
    if "%H" not in written:
        # The day of a moment with a zone depends on who reads it.
        return moment.day.strftime(written) if moment.zone is None else None
    if moment.clock is None or moment.zone is not None:
        return None
    if "%S" not in written and moment.clock.second:
        return None
    return datetime.combine(moment.day, moment.clock).strftime(written)


def _clock_in(clock: time, form: str) -> str | None:
    if form == "##:##":
        return None if clock.second else clock.strftime("%H:%M")
    return clock.strftime("%H:%M:%S")


def _from_unix(text: str, form: str) -> str | None:
    if not _UNIX.fullmatch(text.strip()) or form not in _ZONED:
        return None
    return datetime.fromtimestamp(int(text), UTC).strftime(_ZONED[form])


def _day(parts: dict[str, str | None]) -> date | None:
    year = int(parts["year"] or 0)
    if year < _FIRST_YEAR:
        return None
    if name := parts.get("name"):
        month = _MONTHS.index(name[:3].lower()) + 1
        return date(year, month, int(parts["day"] or 0))
    if "first" not in parts:
        return date(year, int(parts["month"] or 0), int(parts["day"] or 0))
    first, second = int(parts["first"] or 0), int(parts["second_"] or 0)
    if first <= _NOON and second <= _NOON and first != second:
        return None
    return date(year, second, first) if first > _NOON else date(year, first, second)


def _clock(found: re.Match[str]) -> time | None:
    if found["hour"] is None:
        return None
    return time(_hour(int(found["hour"]), found["half"]), int(found["minute"]), int(found["second"] or 0))


def _time_alone(found: re.Match[str]) -> Moment | None:
    if found["minute"] is None and found["half"] is None:
        return None
    hour = _hour(int(found["hour"]), found["half"])
    return Moment(None, time(hour, int(found["minute"] or 0), int(found["second"] or 0)), None)


def _hour(hour: int, half: str | None) -> int:
    if half is None:
        return hour
    if not 1 <= hour <= _NOON:
        raise ValueError(hour)
    return hour % _NOON + (_NOON if half[0] in "pP" else 0)


def _zone(text: str | None) -> timezone | None:
    if text is None:
        return None
    if text in ("Z", "UTC", "GMT"):
        return UTC
    sign = -1 if text[0] == "-" else 1
    return timezone(sign * timedelta(hours=int(text[1:3]), minutes=int(text[-2:])))
