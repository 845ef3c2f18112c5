"""Exports of lessons as files, and as the standard streams."""

import json
import sys
from pathlib import Path
from typing import Any

from rearview.cli.options import refuse
from rearview.cli.render import Output, counted

IMPORT_LIMIT_BYTES = 64 * 1024 * 1024


def export_to(output: Output, exported: dict[str, Any], file: str, *, force: bool) -> None:
    """Write an export to a file, or to standard output for `-`; one that is there already only with `force`.

    Raises:
        StoreError: it is there already, or can't be written.
    """
    if file == "-":
        output.data(exported)
        return
    text = json.dumps(exported, indent=2, ensure_ascii=False) + "\n"
    # A device or a pipe has nothing that could be lost.
    mode = "w" if force or (Path(file).exists() and not Path(file).is_file()) else "x"
    try:
        with Path(file).open(mode, encoding="utf-8") as target:
            target.write(text)
    except FileExistsError:
        refuse(f"{file}: is there already: name another file, or add --force to replace it")
    except OSError as error:
        refuse(f"{file}: can't be written ({error.strerror}): name another file")
    number = len(exported["lessons"])
    output.done({"exported": number, "file": file}, f"{counted(number, 'lesson')} written to {file}.")


def exported_in(file: str) -> dict[str, Any]:
    """Return the JSON object of a file, or of standard input for `-`; whether it holds lessons is checked elsewhere.

    Raises:
        StoreError: it can't be read, or is none.
    """
    try:
        if file == "-":
            data = sys.stdin.buffer.read(IMPORT_LIMIT_BYTES + 1)
        else:
            with Path(file).open("rb") as source:
                data = source.read(IMPORT_LIMIT_BYTES + 1)
        if len(data) > IMPORT_LIMIT_BYTES:
            refuse(f"{file}: is over {IMPORT_LIMIT_BYTES // 2**20} MiB: that is no export of lessons")
        exported = json.loads(data)
    except OSError as error:
        refuse(f"{file}: can't be read ({error.strerror}): name another file")
    except (ValueError, RecursionError):
        refuse(f"{file}: is not JSON: name a file that `mcp-rearview lessons export` wrote")
    if not isinstance(exported, dict):
        refuse(f"{file}: is no export of lessons: name a file that `mcp-rearview lessons export` wrote")
    return exported
