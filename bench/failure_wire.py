"""How well failures are recognised on recorded MCP traffic: `python bench/failure_wire.py FOLDER [--misses]`.

FOLDER holds `<server>.jsonl` recordings and `labels.jsonl`.
"""

import json
import sys
import timeit
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from rearview.learn.failure import outcome_of
from rearview_interceptors.api import FAILED

# The recorded labels are coarse; each may be any of these kinds.
KINDS = {
    "wrong_args": "argument",
    "unknown_tool": "unknown_tool",
    "not_found_path": "not_found",
    "outside_root": "forbidden",
    "stale_ref": "precondition",
    "bad_value": "argument",
    "git_ref": "not_found argument",
    "sql_constraint": "argument",
    "timeout": "transient",
    "navigation": "environment transient argument",
    "permission": "forbidden",
    "unknown_table": "not_found",
    "unknown_column": "not_found",
    "not_a_repo": "not_found precondition",
    "sql_syntax": "argument",
    "edit_no_match": "not_found argument",
    "sql_other": "argument not_found",
    "wrong_type": "argument",
    "git_state": "precondition transient",
    "connection": "environment transient",
    "script_error": "argument",
    "no_match_element": "not_found argument",
    "entity_not_found": "not_found precondition",
    "unknown_command": "environment",
    "modal_state": "precondition",
    "http_status": "not_found",
}


def exchanges(folder: Path) -> Iterator[tuple[dict[str, Any], dict[str, Any] | None]]:
    """Each label with the reply that it is about, None where none came."""
    replies: dict[tuple[str, str], dict[str, Any]] = {}
    for recording in folder.glob("*.jsonl"):
        if recording.name == "labels.jsonl":
            continue
        for line in recording.read_text().splitlines():
            row = json.loads(line)
            message = row["message"]
            if row["direction"] == "server->client" and isinstance(message, dict) and "method" not in message:
                replies[recording.name, json.dumps(message.get("id"))] = message
    for line in (folder / "labels.jsonl").read_text().splitlines():
        label = json.loads(line)
        name = label["file"] if label["file"].endswith(".jsonl") else label["file"] + ".jsonl"
        yield label, replies.get((name, json.dumps(label["id"])))


def measure(folder: Path, *, misses: bool) -> None:
    """Print recall and precision of the grade, and how often the kind is among those that fit the label."""
    counts: Counter[str] = Counter()
    for label, reply in exchanges(folder):
        if reply is None or label["outcome"] == "ambiguous" or label["shape"] == "invisible":
            counts["left out"] += 1
            continue
        grade, kind, text = outcome_of(reply)
        failed, wanted = grade in FAILED, label["outcome"] == "failure"
        counts[f"{'failed' if wanted else 'good'} {'told' if failed else 'not told'}"] += 1
        note = "" if failed == wanted else "GRADE"
        if failed and wanted and label["kind"] in KINDS:
            fits = str(kind) in KINDS[label["kind"]].split()
            counts["kind right" if fits else "kind wrong"] += 1
            note = note or ("" if fits else "KIND")
        if misses and note:
            print(note, label["file"], label["id"], label["outcome"], label["kind"], kind, repr(text[:160]))
    told, wrong = counts["failed told"], counts["good told"]
    print(dict(counts))
    print(f"recall {told / max(1, told + counts['failed not told']):.3f}")
    print(f"precision {told / max(1, told + wrong):.3f}")
    print(f"kind {counts['kind right'] / max(1, counts['kind right'] + counts['kind wrong']):.3f}")


def speed() -> None:
    """Print what one success and one failure cost."""
    prose = "The quick brown fox jumps over the lazy dog and reads the log. " * 16
    cases = {
        "success, 1 kB of text": {"result": {"content": [{"type": "text", "text": prose}]}},
        "success, 1 kB of JSON": {"result": {"content": [{"type": "text", "text": json.dumps({"rows": [prose]})}]}},
        "failure": {"result": {"isError": True, "content": [{"type": "text", "text": "ENOENT: no such file '/a/b'"}]}},
    }
    for name, body in cases.items():
        best = min(timeit.repeat(partial(outcome_of, body), number=1000, repeat=30)) / 1000
        print(f"{name}: {best * 1e6:.2f} us")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        measure(Path(sys.argv[1]), misses="--misses" in sys.argv)
    speed()
