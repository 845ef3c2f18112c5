"""What the parts of a relay are put together with: the digest of a call, and the name that a server is stored by."""

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from rearview.app import _also_called, _digester, _stored_name
from rearview.config import Config, ServerOptions
from wrapped import wrapped

Digest = Callable[[str, Mapping[str, Any]], bytes]


@pytest.fixture
def digest() -> Digest:
    return _digester(None)


def test_no_number_and_null_are_three_different_calls_whatever_the_order_of_their_keys(digest: Digest) -> None:
    texts = ('{"a": {"b": [null]}}', '{"a": {"b": [NaN]}}', '{"a": {"b": [Infinity]}}', '{"a": {"b": [-Infinity]}}')
    calls = [json.loads(text) for text in texts]

    assert len({digest("tool", call) for call in calls}) == len(calls)
    assert digest("tool", {"a": calls[1], "b": 1}) == digest("tool", {"b": 1, "a": calls[1]})
    assert digest("tool", {"a": float("nan"), "b": "null"}) != digest("tool", {"a": None, "b": "null"})


@pytest.mark.parametrize(
    ("typed", "stored"),
    [
        ("files", "files"),
        ("a server with a rather long name, in words", "a server with a rather long name, in words"),
        ("modelcontextprotocol-server-filesystem-2", "modelcontextprotocol-server-filesystem-2"),
        ("xoxb-123456789012-abcdef", "[redacted:slack]"),
        ("sk-proj-abcdefghijklmnopqrstuvwxyz-ABCDEFG", "[redacted:openai]"),
        ("ghp_abcdefghijklmnopqrstuvwxyz0123456789", "[redacted:github]"),
        ("db password=hunter2", "db password=[redacted:assignment]"),
    ],
)
def test_a_secret_in_the_name_of_a_server_is_hidden(typed: str, stored: str) -> None:
    assert _stored_name(typed) == stored


def test_a_usual_name_does_not_make_the_start_wait_for_the_rules_of_redaction() -> None:
    code = (
        "import sys; from rearview.app import _stored_name; [_stored_name(n) for n in ('git', 'server-filesystem')];"
        "print('rearview_interceptors.redact' in sys.modules)"
    )

    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "False\n"


def test_what_the_settings_say_of_a_name_holds_without_its_secret() -> None:
    quiet = {"db password=x": ServerOptions(mode="observe", capture="off")}
    config = Config(servers=quiet, project=Config())

    called = _also_called(config, "db password=x", "db password=[redacted:assignment]")

    assert called.mode_for("db password=[redacted:assignment]", "read") == "observe"
    assert called.capture_for("db password=[redacted:assignment]", "read") == "off"


def test_no_file_of_the_state_folder_holds_a_secret_that_was_typed_as_a_name(tmp_path: Path) -> None:
    secret = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"

    with wrapped(tmp_path, options=("--name", f"files {secret}")) as relay:
        relay.hello()
        relay.text("echo", {"text": "hello"})

    kept = b"".join(path.read_bytes() for path in (tmp_path / "state").rglob("*") if path.is_file())
    assert b"files [redacted:github]" in kept
    assert secret.encode() not in kept
