import json
import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from wrapped import PATIENCE_SECONDS, SERVER, environment, eventually, is_alive, wrapped

ENDING_SECONDS = 3.0
"""The promise is two; the machine may be busy."""


@pytest.fixture(autouse=True)
def no_learner(tmp_path: Path) -> None:
    """These tests are about bytes and processes; a learner that one leaves behind would slow the others."""
    config = tmp_path / ".config" / "rearview" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text("[learner]\nenabled = false\n")


def test_a_call_goes_to_the_server_and_back(tmp_path: Path) -> None:
    with wrapped(tmp_path) as relay:
        relay.hello()

        assert relay.text("echo", {"text": "héllo \u2028 ☃"}) == "héllo \u2028 ☃"


def test_the_server_gets_its_arguments_environment_and_folder(tmp_path: Path) -> None:
    command = [sys.executable, SERVER, "a b", "$HOME", "*"]
    with wrapped(tmp_path, command, cwd=tmp_path, REARVIEW_TEST="yes") as relay:
        seen = json.loads(relay.text("where"))

    assert seen == {"cwd": str(tmp_path), "env": "yes", "argv": ["a b", "$HOME", "*"]}


ODD_LINES = [
    b'{"jsonrpc":"2.0","id":1e2,"method":"x","params":{"n":123456789012345678901234567890,"f":1.0}}\n',
    b'{"a":"\\ud83d","b":NaN}\n',
    b'[{"jsonrpc":"2.0","id":1,"method":"x"},{"jsonrpc":"2.0","method":"y"}]\n',
    b'  {"spaced" : true }  \r\n',
    b'{"broken": \n',
    b'{"dup":1,"dup":2}\n',
    '{"u":"é\u2028\U0001f40d"}\n'.encode(),
    b'{"x":"\xff\xfe"}\n',
    b"{}\n",
    b"[]\n",
]


def test_whatever_may_be_a_message_passes_byte_for_byte_both_ways(tmp_path: Path) -> None:
    with wrapped(tmp_path, ["cat"]) as relay:
        for line in ODD_LINES:
            relay.send(line)

        assert [relay.receive() for _ in ODD_LINES] == ODD_LINES


def test_lines_of_the_client_pass_whatever_they_are(tmp_path: Path) -> None:
    out = tmp_path / "seen"
    with wrapped(tmp_path, ["tee", str(out)]) as relay:
        relay.send(b"not JSON\n\n[INFO] x\n\xff\x00\n{}\n")
        relay.receive()

    assert out.read_bytes() == b"not JSON\n\n[INFO] x\n\xff\x00\n{}\n"


def test_noise_of_the_server_goes_to_stderr(tmp_path: Path) -> None:
    with wrapped(tmp_path) as relay:
        assert relay.text("noise") == "done"
        assert relay.said_on_stderr("[INFO] busy\nplain words\n\n")
        assert relay.said_on_stderr("server is up\n")


def test_the_end_of_stdin_ends_the_server_and_gives_its_exit_code(tmp_path: Path) -> None:
    with wrapped(tmp_path) as relay:
        relay.text("echo")
        relay.close_input()

        assert relay.ended() == 5


def test_a_file_as_standard_input_gets_its_answers(tmp_path: Path) -> None:
    questions = tmp_path / "questions"
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "echo", "arguments": {"text": "x"}}}
    questions.write_text(json.dumps(call) + "\n")
    argv = [sys.executable, "-m", "mcp_rearview", "wrap", "--", sys.executable, SERVER]

    with questions.open("rb") as stdin:
        done = subprocess.run(
            argv, stdin=stdin, capture_output=True, env=environment(tmp_path), timeout=PATIENCE_SECONDS, check=False
        )

    assert json.loads(done.stdout)["result"]["content"][0]["text"] == "x"
    assert done.returncode == 5


def test_a_socket_as_standard_input_and_output(tmp_path: Path) -> None:
    ours, theirs = socket.socketpair()
    argv = [sys.executable, "-m", "mcp_rearview", "wrap", "--", "cat"]
    with ours, subprocess.Popen(argv, stdin=theirs, stdout=theirs, env=environment(tmp_path)) as process:
        theirs.close()
        ours.sendall(b'{"id":1}\n')
        assert ours.recv(100) == b'{"id":1}\n'
        ours.shutdown(socket.SHUT_WR)

        assert process.wait(PATIENCE_SECONDS) == 0


def test_eight_large_calls_in_flight_do_not_lock_up(tmp_path: Path) -> None:
    text = "y" * 100_000
    with wrapped(tmp_path) as relay:
        for number in range(8):
            params = {"name": "echo", "arguments": {"text": text}}
            relay.send({"jsonrpc": "2.0", "id": f"b{number}", "method": "tools/call", "params": params})
        answers = [json.loads(relay.receive()) for _ in range(8)]

    assert [answer["id"] for answer in answers] == [f"b{number}" for number in range(8)]
    assert {answer["result"]["content"][0]["text"] for answer in answers} == {text}


def test_a_command_that_is_not_there_gives_127_and_says_so(tmp_path: Path) -> None:
    with wrapped(tmp_path, ["no-such-server-anywhere"]) as relay:
        assert relay.ended() == 127
        assert b"command not found: no-such-server-anywhere" in relay.stderr


def test_disabled_means_that_the_server_takes_our_place(tmp_path: Path) -> None:
    with wrapped(tmp_path, REARVIEW_DISABLE="1") as relay:
        assert "python" in Path(f"/proc/{relay.process.pid}/cmdline").read_text().split("\0")[0]
        assert eventually(lambda: SERVER in Path(f"/proc/{relay.process.pid}/cmdline").read_text())
        assert relay.text("echo", {"text": "x"}) == "x"

    assert not (tmp_path / "state").exists()


def test_a_crash_is_answered_at_once_and_the_next_call_works(tmp_path: Path) -> None:
    with wrapped(tmp_path) as relay:
        relay.hello()
        error = relay.call("crash")["error"]

        assert error["data"]["exitCode"] == 3
        assert "about to fall" in error["data"]["stderr"]
        assert relay.text("echo", {"text": "again"}) == "again"
        assert relay.said_on_stderr("server.restarted")
        assert eventually(lambda: bytes(relay.stderr).count(b"initialized\n") == 2)


def test_a_crash_before_initialize_is_answered_too(tmp_path: Path) -> None:
    dies = "import sys; sys.stdin.readline(); sys.exit('AttributeError: no such SDK')"
    with wrapped(tmp_path, [sys.executable, "-c", dies]) as relay:
        error = relay.ask("initialize")["error"]

        assert error["data"] == {"exitCode": 1, "stderr": "AttributeError: no such SDK"}


def test_a_server_that_keeps_dying_is_not_started_for_ever(tmp_path: Path) -> None:
    with wrapped(tmp_path) as relay:
        codes = [relay.call("crash", {"code": number})["error"]["data"]["exitCode"] for number in (1, 2, 3, 4)]
        last = relay.call("echo")

        assert codes == [1, 2, 3, 4]
        assert last["error"]["data"]["exitCode"] == 4
        assert relay.said_on_stderr("server.not_restarted")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_both(tmp_path: Path, number: signal.Signals) -> None:
    with wrapped(tmp_path) as relay:
        server = child_of(relay.process.pid)
        relay.text("echo")
        relay.process.send_signal(number)

        relay.ended()
        assert not is_alive(server)


@pytest.mark.parametrize("tool", ["grandchild", "stuck"])
def test_nothing_is_left_of_a_server_that_does_not_want_to_end(tmp_path: Path, tool: str) -> None:
    with wrapped(tmp_path) as relay:
        server = child_of(relay.process.pid)
        said = relay.text(tool)
        grandchild = int(said) if tool == "grandchild" else server
        relay.close_input()

        relay.ended()
        assert eventually(lambda: not is_alive(server) and not is_alive(grandchild), ENDING_SECONDS)


def test_a_parent_that_disappears_takes_the_server_along_though_the_pipe_stays_open(tmp_path: Path) -> None:
    # The parent starts the wrap on pipes that this test holds open, tells its id, and is killed.
    code = (
        "import subprocess,sys,time; p=subprocess.Popen(sys.argv[1:]);"
        "print(p.pid, file=sys.stderr, flush=True); time.sleep(60)"
    )
    argv = [sys.executable, "-c", code, sys.executable, "-m", "mcp_rearview", "wrap", "--", sys.executable, SERVER]
    pipe = subprocess.PIPE
    with subprocess.Popen(argv, stdin=pipe, stdout=pipe, stderr=pipe, env=environment(tmp_path)) as parent:
        assert parent.stderr
        assert parent.stdout
        relay = int(parent.stderr.readline())
        assert eventually(lambda: len(children(relay)) > 0)
        server = child_of(relay)
        assert parent.stdin
        parent.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n')
        parent.stdin.flush()
        assert parent.stdout.readline()
        parent.kill()

        assert eventually(lambda: not is_alive(relay) and not is_alive(server))


def test_full_pipes_both_ways_do_not_keep_anything_alive(tmp_path: Path) -> None:
    argv = [sys.executable, "-m", "mcp_rearview", "wrap", "--", sys.executable, SERVER]
    pipe = subprocess.PIPE
    with subprocess.Popen(argv, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, env=environment(tmp_path)) as relay:
        assert relay.stdin
        assert relay.stdout
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "flood"}}
        relay.stdin.write(json.dumps(call).encode() + b"\n")
        relay.stdin.flush()
        server = child_of(relay.pid)
        stuffed = threading.Event()
        threading.Thread(target=stuff, args=(relay.stdin.fileno(), stuffed), daemon=True).start()
        assert stuffed.wait(PATIENCE_SECONDS)
        relay.terminate()

        assert eventually(lambda: not is_alive(server), ENDING_SECONDS)
        assert eventually(lambda: relay.poll() is not None, ENDING_SECONDS)


def stuff(fd: int, stuffed: threading.Event) -> None:
    """Write until the pipe takes no more."""
    os.set_blocking(fd, False)
    line = b'{"jsonrpc":"2.0","method":"x","params":{"pad":"' + b"p" * 60_000 + b'"}}\n'
    idle = 0
    while idle < 50:
        try:
            os.write(fd, line)
            idle = 0
        except BlockingIOError:
            idle += 1
            stuffed.wait(0.01)
    stuffed.set()


def children(pid: int) -> list[int]:
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def child_of(pid: int) -> int:
    assert eventually(lambda: len(children(pid)) > 0)
    return children(pid)[0]
