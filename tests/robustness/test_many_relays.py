"""Eight relays on one state folder, ten thousand calls, and kill -9 at random: what was written is learned once."""

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import pytest
from journal_watch import JournalWatch
from surroundings import FIXTURES, MODULE, Surroundings, call_line

from wrapped import eventually, is_alive

CLIENTS, KILLED_CLIENTS = 8, 5
CALLS_PER_CLIENT = 1400
LIVES = 4
WINDOW = 25
SERVER = str(FIXTURES / "counting_server.py")


@dataclass
class Life:
    """One relay: the numbers of the calls that it has answered, in order, and whether it was killed."""

    pid: int
    answered: list[int] = field(default_factory=list)
    killed: bool = False
    calm: bool = False


@dataclass
class Client:
    """Starts one relay after the other, and kills all but the last; `calm` ones when everything has been written."""

    around: Surroundings
    counts: Path
    watch: JournalWatch
    numbers: Iterator[int]
    luck: random.Random
    lives: int
    done: list[Life] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    def run(self) -> None:
        try:
            for number in range(self.lives):
                self._live(last=number == self.lives - 1)
        except Exception as error:
            self.wrong.append(repr(error))
            raise

    def _live(self, *, last: bool) -> None:
        argv = [*MODULE, "wrap", "--name", "counting", "--", sys.executable, SERVER, str(self.counts)]
        share = CALLS_PER_CLIENT // self.lives
        end_at = share if last else self.luck.randrange(share * 4 // 5, share + 1)
        pipe, env = subprocess.PIPE, self.around.environment()
        with subprocess.Popen(argv, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, env=env) as relay:
            life = Life(relay.pid)
            self.done.append(life)
            while len(life.answered) < end_at:
                self._window(relay, life, self.luck.randint(1, WINDOW))
            if last:
                assert relay.stdin
                relay.stdin.close()
                relay.wait(20)
            else:
                self._kill(relay, life)

    def _window(self, relay: "subprocess.Popen[bytes]", life: Life, size: int, read: bool = True) -> None:
        assert relay.stdin
        assert relay.stdout
        sent = [next(self.numbers) for _ in range(size)]
        lines = []
        for number in sent:
            tool = "fail" if number % 11 == 0 else "echo"
            text = f"said {number} " + "x" * self.luck.choice((0, 20, 1500))
            lines.append(call_line(number, tool, {"number": number, "text": text}))
        relay.stdin.write(b"".join(lines))
        relay.stdin.flush()
        for number in sent if read else ():
            answer = json.loads(relay.stdout.readline())
            if answer["id"] != number:
                self.wrong.append(f"{answer['id']} instead of {number}")
            life.answered.append(number)

    def _kill(self, relay: "subprocess.Popen[bytes]", life: Life) -> None:
        life.killed, life.calm = True, self.luck.random() < 0.4
        if life.calm:
            assert eventually(lambda: self.watch.has(life.answered[-1]))
        else:
            self._window(relay, life, self.luck.randint(1, WINDOW), read=False)
        relay.kill()


def kill_learners(around: Surroundings, luck: random.Random, over: threading.Event, killed: list[int]) -> None:
    """Run one learner after the other, each until it has worked for a random while."""
    env = around.environment()
    while not over.is_set():
        learner = subprocess.Popen([*MODULE, "learn"], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        over.wait(luck.uniform(1.0, 4.0))
        learner.send_signal(signal.SIGKILL)
        killed.append(learner.wait())


def ledger(around: Surroundings, query: str) -> list[tuple[object, ...]]:
    connection = sqlite3.connect(around.state / "ledger.sqlite3")
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.close()


@pytest.mark.slow
def test_every_line_that_was_written_is_learned_exactly_once(around: Surroundings) -> None:
    around.config.write_text('[learner]\nenabled = false\n[journal]\nmax_file_mb = 1\n[warn]\nmode = "observe"\n')
    counts = around.folder / "counts"
    counts.mkdir()
    luck = random.Random(7)
    (around.state / "journal").mkdir(parents=True)
    watch = JournalWatch(around.state / "journal")
    numbers = count(1)
    clients = [
        Client(around, counts, watch, numbers, random.Random(luck.random()), LIVES if each < KILLED_CLIENTS else 1)
        for each in range(CLIENTS)
    ]
    over, killed = threading.Event(), list[int]()
    threads = [threading.Thread(target=client.run) for client in clients]
    killer = threading.Thread(target=kill_learners, args=(around, luck, over, killed))
    for thread in [*threads, killer]:
        thread.start()
    for thread in threads:
        thread.join()
    over.set()
    killer.join()
    watch.stop()

    learned = around.command("learn", "--all", "--json")

    assert [client.wrong for client in clients] == [[]] * CLIENTS
    assert (learned.returncode, json.loads(learned.stdout)["done"]) == (0, True)
    assert -signal.SIGKILL in killed
    check_ledger(around, watch)
    lives = [life for client in clients for life in client.done]
    at_servers = {int(path.name.split("-")[0]): int(path.read_bytes()) for path in counts.iterdir()}
    check_lives(lives, at_servers, watch)
    assert sum(at_servers.values()) >= 10_000


def check_ledger(around: Surroundings, watch: JournalWatch) -> None:
    written = sorted((relay, seq) for relay, seq, _ in watch.calls())
    assert sorted(ledger(around, "SELECT relay, seq FROM records")) == written
    # Each call belongs to one task, and each task was learned.
    assert sorted(ledger(around, "SELECT relay, seq FROM steps")) == written
    assert ledger(around, "SELECT count(*) FROM trajectories WHERE state NOT IN ('learned')") == [(0,)]
    assert ledger(around, "SELECT coalesce(sum(dropped), 0) FROM relays") == [(0,)]
    assert list((around.state / "journal").iterdir()) == []


def check_lives(lives: list[Life], at_servers: dict[int, int], watch: JournalWatch) -> None:
    pids = watch.pid_of_relays()
    kept: dict[int, list[int]] = {}
    for relay, _, number in watch.calls():
        kept.setdefault(pids[relay], []).append(number)
    for life in lives:
        numbers = sorted(kept.get(life.pid, []))
        if life.killed:
            # Only a tail is missing, and nothing that had been written before a quiet moment.
            finished = sorted({*life.answered, *numbers})
            assert numbers == finished[: len(numbers)]
            assert len(numbers) <= at_servers[life.pid]
            assert not life.calm or numbers == life.answered
        else:
            assert numbers == life.answered
            assert len(numbers) == at_servers[life.pid]


def test_a_learner_that_is_killed_in_the_background_is_started_again(around: Surroundings) -> None:
    around.config.write_text("[learner]\nidle_exit_s = 30.0\n")
    lock = around.state / "learner.lock"
    for _ in range(2):
        with around.relay() as relay:
            relay.text("echo", {"text": "x"})
            assert eventually(lambda: lock.exists() and lock.read_text() != "")
        pid = int(lock.read_text().split()[0])
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        assert eventually(lambda pid=pid: not is_alive(pid))

    assert around.status()["seen"]["calls"] == 2
