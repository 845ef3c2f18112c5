"""Clients and servers that do what nobody should: the relay passes it on, or ends as a plain pipe would."""

import json
import os
import signal
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from surroundings import MODULE, Surroundings, call_line, reports

from wrapped import PATIENCE_SECONDS, SERVER, eventually, is_alive

ECHO = f"""
import json, os, sys
sys.path.insert(0, {str(Path(SERVER).parent)!r})
for line in sys.stdin:
    body = json.loads(line)
    arguments = body["params"]["arguments"]
    {{body}}
"""
RESULT = '{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"%s"}]}}\n'


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def children(pid: int) -> list[int]:
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def resident_mb(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))


def lists(depth: int) -> str:
    return "[" * depth + "]" * depth


DEEP = [
    '{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"x","arguments":{}}}',
    '{"jsonrpc":"2.0","id":%s,"method":"ping"}',
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{"a":%s}}}',
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{},"_meta":{"a":%s}}}',
    '{"jsonrpc":"2.0","id":1,"result":{"content":%s}}',
    '{"jsonrpc":"2.0","id":1,"result":{"content":[],"structuredContent":{"error":%s}}}',
    '{"jsonrpc":"2.0","id":1,"error":{"code":1,"data":%s}}',
    '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s}}',
    '[{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"x"}}]',
]


def test_nesting_of_any_depth_passes_both_ways(around: Surroundings) -> None:
    """Every line comes back through `cat`, so that both directions have to read it."""
    lines = [form % lists(depth) for form in DEEP for depth in (100, 260, 900, 960, 985, 1000, 1015, 1024, 20_000)]
    with around.relay(["cat"]) as relay:
        for text in lines:
            relay.send(call_line(1, "x"))
            relay.send(text.encode() + b"\n")
            assert relay.receive() == call_line(1, "x")
            assert relay.receive() == text.encode() + b"\n"


ODD_IDS = [
    "null", "true", "-0", "1.5", "1e400", "123456789012345678901234567890", '""', '"\\ud800"', '"\\u0000"', '"x\\n"',
    '[1,{"a":2}]', '{"a":1}', lists(500), "[" + "1," * 999 + "1]", '"' + "i" * 100_000 + '"',
]  # fmt: skip


def test_a_call_with_any_id_is_answered_under_that_id_when_the_server_dies(around: Surroundings) -> None:
    for message_id in ODD_IDS:
        with around.relay() as relay:
            call = '{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"crash"}}\n'
            relay.send((call % message_id).encode())
            answer = relay.receive()

            # An id beyond every float can't be written again as JSON.
            spoken = "null" if message_id == "1e400" else json.dumps(json.loads(message_id), separators=(",", ":"))
            assert answer.startswith(b'{"jsonrpc":"2.0","id":%s,"error":' % spoken.encode())


def test_two_calls_under_one_id_both_pass(around: Surroundings) -> None:
    with around.relay() as relay:
        relay.send(call_line(7, "echo", {"text": "a"}) + call_line(7, "echo", {"text": "b"}))

        answers = [json.loads(relay.receive()) for _ in range(2)]

    assert [(answer["id"], answer["result"]["content"][0]["text"]) for answer in answers] == [(7, "a"), (7, "b")]


def test_a_client_without_newlines_is_passed_on_whole(around: Surroundings) -> None:
    code = "import sys; print('{\"read\":%d}' % len(sys.stdin.buffer.read()))"
    with around.relay(python(code)) as relay:
        for _ in range(70):
            relay.send(b"q" * 2**20)
        relay.send(b"\n" + call_line(1, "echo"))
        relay.close_input()

        assert json.loads(relay.receive()) == {"read": 70 * 2**20 + 1 + len(call_line(1, "echo"))}
    assert [report["rearview"] for report in reports(relay.stderr)] == ["relay.line_too_long"]


@pytest.mark.slow
@pytest.mark.parametrize("megabytes", [30, 100])
def test_a_huge_result_arrives_byte_for_byte_and_the_next_one_too(around: Surroundings, megabytes: int) -> None:
    size = megabytes * 10**6
    code = f"import sys\nfor _ in sys.stdin: sys.stdout.write({RESULT!r} % ('z' * {size})); sys.stdout.flush()"
    argv = [*MODULE, "wrap", "--", *python(code)]
    target = around.folder / "out"
    expected = RESULT % ("z" * size)
    with target.open("wb") as out, subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=out, stderr=subprocess.PIPE, env=around.environment()
    ) as relay:  # fmt: skip
        assert relay.stdin
        for number in (1, 2):
            relay.stdin.write(call_line(1, "x"))
            relay.stdin.flush()
            wanted = number * len(expected)
            assert eventually(lambda wanted=wanted: target.stat().st_size >= wanted, 60)
        assert resident_mb(relay.pid) < 150
        relay.stdin.close()

    assert target.read_bytes() == 2 * expected.encode()


def test_twenty_thousand_calls_may_be_sent_before_one_answer_is_read(around: Surroundings) -> None:
    calls = 20_000
    argv = [*MODULE, "wrap", "--", sys.executable, SERVER]
    pipe = subprocess.PIPE
    with subprocess.Popen(argv, stdin=pipe, stdout=pipe, stderr=pipe, env=around.environment()) as relay:
        assert relay.stdin
        assert relay.stdout
        writer = os.fork()
        if writer == 0:
            for number in range(calls):
                relay.stdin.write(call_line(number, "echo", {"text": "t" * 20}))
            relay.stdin.flush()
            os._exit(0)
        # Nothing is read until nothing moves any more.
        eventually(lambda: not is_alive(writer), 1.0)
        assert resident_mb(relay.pid) < 100
        ids = [json.loads(relay.stdout.readline())["id"] for _ in range(calls)]
        os.waitpid(writer, 0)
        relay.stdin.close()
        assert relay.wait(PATIENCE_SECONDS) == 5

    assert ids == list(range(calls))


@pytest.mark.slow
def test_memory_stays_flat_over_twenty_thousand_calls(around: Surroundings) -> None:
    sizes = []
    with around.relay() as relay:
        relay.hello()
        for start in range(0, 20_000, 200):
            for number in range(start, start + 200):
                tool = "fail" if number % 10 == 0 else "echo"
                relay.send(call_line(number, tool, {"text": f"number {number}", "path": f"/data/{number}"}))
            for _ in range(200):
                relay.receive()
            sizes.append(resident_mb(relay.process.pid))

    assert max(sizes) < 60
    assert sizes[-1] - sizes[len(sizes) // 4] < 10


def test_half_a_line_of_a_server_that_dies_reaches_nobody(around: Surroundings) -> None:
    code = (
        "import os,sys\nfor number, line in enumerate(sys.stdin):\n"
        f" sys.stdout.write({RESULT!r} % 'whole' + {RESULT[:40]!r}); sys.stdout.flush(); os._exit(9)"
    )
    with around.relay(python(code)) as relay:
        relay.send(call_line(1, "x") + call_line(2, "x"))
        first, second = relay.receive(), json.loads(relay.receive())
        relay.send(call_line(1, "x"))

        assert first == (RESULT % "whole").encode()
        assert (second["id"], second["error"]["data"]["exitCode"]) == (2, 9)
        assert relay.receive() == (RESULT % "whole").encode()


def test_a_client_that_reads_no_standard_error_gets_all_its_answers(around: Surroundings) -> None:
    """The server writes more than the pipe takes, and dies; what the relay has to say about that must not block it."""
    body = (
        "os.write(2, b'e' * arguments['bytes'])\n"
        "    if arguments['bytes'] > 60_000: os._exit(4)\n"
        "    print(json.dumps({'jsonrpc': '2.0', 'id': body['id'], 'result': {'content': []}}), flush=True)"
    )
    argv = [*MODULE, "wrap", "--", *python(ECHO.format(body=body))]
    pipe = subprocess.PIPE
    with subprocess.Popen(argv, stdin=pipe, stdout=pipe, stderr=pipe, env=around.environment()) as relay:
        assert relay.stdin
        assert relay.stdout
        seen = []
        for number, size in enumerate([0, 50_000, 70_000, 0, 70_000, 0]):
            relay.stdin.write(call_line(number, "x", {"bytes": size}))
            relay.stdin.flush()
            answer = json.loads(relay.stdout.readline())
            seen.append((answer["id"], "error" in answer))
        relay.stdin.close()
        assert relay.wait(PATIENCE_SECONDS) is not None

    assert seen == [(0, False), (1, False), (2, True), (3, False), (4, True), (5, False)]


def test_a_client_that_closes_our_output_ends_the_server(around: Surroundings) -> None:
    argv = [*MODULE, "wrap", "--", sys.executable, SERVER]
    pipe = subprocess.PIPE
    with subprocess.Popen(argv, stdin=pipe, stdout=pipe, stderr=pipe, env=around.environment()) as relay:
        assert relay.stdin
        assert relay.stdout
        relay.stdin.write(call_line(1, "echo"))
        relay.stdin.flush()
        relay.stdout.readline()
        (server,) = children(relay.pid)
        relay.stdout.close()
        relay.stdin.write(call_line(2, "echo"))
        relay.stdin.flush()

        assert relay.wait(PATIENCE_SECONDS) is not None
        assert not is_alive(server)


@pytest.mark.parametrize("closed", [[0], [1], [2], [0, 1], [1, 2], [0, 1, 2]], ids=str)
def test_descriptors_that_are_closed_at_the_start_are_an_end_and_no_confusion(
    around: Surroundings, closed: list[int]
) -> None:
    code = f"import os,sys\nfor fd in {closed}: os.close(fd)\nos.execv(sys.argv[1], sys.argv[1:])"
    argv = [*python(code), *MODULE, "wrap", "--", sys.executable, SERVER]
    asked = b"" if 0 in closed else call_line(1, "echo", {"text": "x"})

    done = subprocess.run(
        argv, input=asked, capture_output=True, env=around.environment(), timeout=PATIENCE_SECONDS, check=False
    )

    answers = [json.loads(line)["result"]["content"][0]["text"] for line in done.stdout.splitlines()]
    assert answers == ([] if 0 in closed or 1 in closed else ["x"])
    assert b"Traceback" not in done.stderr


def test_a_working_folder_that_is_gone_is_no_reason_to_stop(around: Surroundings) -> None:
    gone = around.folder / "gone"
    gone.mkdir()
    code = f"import os,sys\nos.rmdir({str(gone)!r})\nos.execv(sys.argv[1], sys.argv[1:])"
    with around.relay(cwd=gone, program=[*python(code), *MODULE]) as relay:
        assert relay.text("echo", {"text": "x"}) == "x"


def test_long_arguments_and_a_large_environment_reach_the_server(around: Surroundings) -> None:
    words = ["w" * 100_000, *map(str, range(5000))]
    with around.relay([sys.executable, SERVER, *words], REARVIEW_TEST="e" * 120_000) as relay:
        seen = json.loads(relay.text("where"))

    assert (seen["argv"], seen["env"]) == (words, "e" * 120_000)


def test_five_thousand_tools_pass_and_are_called(around: Surroundings) -> None:
    schema = {"type": "object", "properties": {f"p{n}": {"type": "string", "description": "d" * 80} for n in range(8)}}
    tools = json.dumps([{"name": f"t{number}", "inputSchema": schema} for number in range(5000)])
    (around.folder / "tools").write_text(tools)
    code = (
        "import json,sys\n"
        f"tools = json.load(open({str(around.folder / 'tools')!r}))\n"
        "for line in sys.stdin:\n"
        " body = json.loads(line)\n"
        " result = {'tools': tools} if body['method'] == 'tools/list' else {'content': []}\n"
        " print(json.dumps({'jsonrpc': '2.0', 'id': body['id'], 'result': result}), flush=True)"
    )
    with around.relay(python(code)) as relay:
        assert relay.ask("tools/list")["result"]["tools"] == json.loads(tools)
        assert relay.call("t4999", {"p1": "x"})["result"] == {"content": []}
        assert relay.ask("tools/list")["result"]["tools"] == json.loads(tools)


def test_a_stopped_relay_goes_on_where_it_was(around: Surroundings) -> None:
    with around.relay() as relay:
        relay.text("echo")
        relay.process.send_signal(signal.SIGSTOP)
        relay.send(call_line("later", "echo", {"text": "y"}))
        relay.process.send_signal(signal.SIGCONT)

        assert json.loads(relay.receive())["id"] == "later"


def test_a_killed_relay_leaves_no_server_behind(around: Surroundings) -> None:
    with around.relay() as relay:
        relay.text("echo")
        (server,) = children(relay.process.pid)
        relay.process.kill()

        assert eventually(lambda: not is_alive(server))


def test_messages_cut_anywhere_arrive_whole(around: Surroundings) -> None:
    line = call_line("é\u2028", "echo", {"text": "☃" * 50})
    cuts = [0, 1, 2, 17, 18, 60, len(line) - 1, len(line)]
    with around.relay(["cat"]) as relay:
        for start, end in pairwise(cuts):
            relay.send(line[start:end])
            eventually(lambda: False, 0.01)

        assert relay.receive() == line
