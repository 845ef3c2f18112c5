"""English sentences and words."""

HELD = "Held by Rearview, nothing was run: {fact}."
NOTE = "Rearview note: {fact}."
REPEAT = "To run it anyway, repeat the identical call."
ONCE = "One earlier run continued this way: {remedy}"
AND = " "

FACTS = {
    "runs": "{failed} of {met} earlier runs failed with this{when}",
    "exact": "this exact call failed in {failed} of {met} earlier runs{when}",
    "schema": "the tool's own schema does not allow this call",
    "session_exact": "this exact call already failed in this session",
    "session_grounded": "the same cause already made a call fail in this session",
    "session_loop": "the same failure has now come {failed} times in this session",
}
WHEN = {
    "": "",
    "today": ", last today",
    "yesterday": ", last yesterday",
    "days": ", last {n} days ago",
    "weeks": ", last {n} weeks ago",
    "months": ", last over two months ago",
}

# Why: kind, and whether the field is named (`:field`), missing (`:missing`) or a longer text (`:text`).
WHY = {
    "argument": "The arguments were not accepted.",
    "argument:field": "`{field}` ({form}) was not accepted.",
    "argument:text": "Something in `{field}` was not accepted.",
    "missing": "`{field}` was missing.",
    "precondition": "Another step has to come first.",
    "precondition:field": "`{field}` ({form}) needs another step first.",
    "not_found": "Something that it names was not found.",
    "not_found:field": "What `{field}` ({form}) names was not found.",
    "not_found:text": "Something that `{field}` names or quotes was not found.",
    "forbidden": "Access was refused.",
    "forbidden:field": "`{field}` ({form}) was refused.",
    "rate_limited": "There were too many requests.",
    "transient": "The server was busy or too slow.",
    "environment": "Something that the server needs was missing or not running.",
    "unknown_tool": "The server has no such tool.",
    "empty": "Nothing was found.",
    "other": "The server answered with an error.",
    "other:field": "It failed with `{field}` ({form}).",
    "other:text": "It failed with what stands in `{field}`.",
}

REMEDY = {
    "rename": "Write `{to}` instead of `{field}`.",
    "add": "Add `{field}`.",
    "add:form": "Add `{field}`: {form}.",
    "drop": "Leave out `{field}`.",
    "write": "Write `{field}` as `{to}`.",
    "write_typed": "Write `{field}` as {form}: `{to}`.",
    "as_form": "Write `{field}` as {form}.",
    "inside": "Use a path inside the folder the server was given (`{to}`).",
    "one_of": "`{field}` takes one of `{to}`.",
    "listed": "Use one of the values that the schema lists for `{field}`.",
    "known_name": "In `{field}`, the name `{to}` has worked here.",
    "call_first": "Call `{to}` first.",
    "wait": "Wait a little, and check what took effect before you try again.",
}

# When nothing better is known.
ADVICE = {
    "argument": "Compare the arguments with the tool's schema.",
    "precondition": "Get a fresh view of the current state first, then call again with what it shows.",
    "not_found": "Check what exists first.",
    "not_found:field": "Check first that what `{field}` names exists.",
    "not_found:text": "Look up the exact names or text first.",
    "not_found:path": "Check first that the path exists, for instance by listing its folder.",
    "forbidden": "Use something that you may access, or ask the user.",
    "forbidden:path": "Use a path inside a folder that the server was given.",
    "rate_limited": "Wait before the next call.",
    "transient": "Wait a little, and check what took effect before you try again.",
    "environment": "Check that it is installed, configured and running, or tell the user.",
    "unknown_tool": "Use a name from the current tool list.",
    "empty": "Try other search words.",
    "other": "Change something about the call, or take another way.",
}

FORMS = {
    "string": "a text", "number": "a number", "integer": "a whole number", "boolean": "true or false",
    "array": "a list", "object": "an object", "null": "null",
    "bool": "true or false", "num+": "a positive number", "num-": "a negative number", "num0": "zero",
    "emptylist": "an empty list", "emptydict": "an empty object", "blank": "an empty text", "json": "JSON text",
    "url": "a URL", "text": "a longer text", "abspath": "an absolute path", "relpath": "a relative path",
    "uppath": "a path that leads out of its folder", "homepath": "a path in a home folder",
    "datetime": "a date with time", "date": "a date", "otherdate": "a date in another form", "time": "a time",
    "numstr": "a number as text", "id": "an id", "listtext": "a list as text", "mail": "an e-mail address",
    "word": "one word", "words": "several words",
    "date_dashes": "a date: year (four digits), month and day (two digits each), joined by dashes",
    "date_slashes": "a date: year (four digits), month and day (two digits each), joined by slashes",
    "date_dots": "a date: year (four digits), month and day (two digits each), joined by dots",
    "date_digits": "eight digits",
    "datetime_t_minutes": "year-month-day, the letter T, then hour:minute, with leading zeros",
    "datetime_t": "year-month-day, the letter T, then hour:minute:second, with leading zeros",
    "datetime_utc": "year-month-day, the letter T, hour:minute:second, then the letter Z, in UTC",
    "datetime_utc_minutes": "year-month-day, the letter T, hour:minute, then the letter Z, in UTC",
    "datetime_blank_minutes": "year-month-day, a blank, then hour:minute, with leading zeros",
    "datetime_blank": "year-month-day, a blank, then hour:minute:second, with leading zeros",
    "clock": "hour:minute on the 24-hour clock, two digits each",
    "clock_seconds": "hour:minute:second on the 24-hour clock, two digits each",
    "unix": "ten digits (Unix seconds)", "digit": "a digit", "digits": "{n} digits", "letter": "a letter",
    "letters": "{n} letters", "dash": "a dash", "slash": "a slash", "dot": "a dot", "colon": "a colon",
    "underscore": "an underscore", "space": "a blank", "at": "an at sign", "plus": "a plus sign", "then": ", ",
    "2": "two", "3": "three", "4": "four", "5": "five", "6": "six", "7": "seven", "8": "eight", "9": "nine",
}  # fmt: skip
