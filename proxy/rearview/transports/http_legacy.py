"""Clients of the revisions that begin with `initialize`: each has a child of its own, and a session that names it."""

import time
from collections import deque
from typing import Any

from rearview.core.inject import error_answer
from rearview.core.message import JsonObject, exact_id, id_key, look, look_at_batch
from rearview.transports.children import Children, Running
from rearview.transports.ear import Ear
from rearview.transports.http_exchange import Exchange
from rearview.transports.http_heads import JSON, SESSION_ID
from rearview.transports.http_media import prefers_events
from rearview.transports.http_streams import EventLog, Stream, replay

UNSOLICITED = 0
"""The number of the stream that a client opens with GET."""

BUFFER_MESSAGES = 256
BUFFER_BYTES = 2**20
"""What waits for a client that listens nowhere; then the oldest goes."""

PRIMED_SINCE = b"2025-11-25"


class Post:
    """The requests of one POST that have no answer yet, and the stream that brings them."""

    __slots__ = ("keys", "stream", "tokens")

    def __init__(self, stream: Stream, requests: list[JsonObject], line: bytes) -> None:
        self.stream = stream
        self.keys = [request_key(request, line) for request in requests]
        self.tokens = [key for key in map(_token, requests) if key is not None]


class LegacySession:
    """One child and the streams of its client. `on_over` is called when the child has ended by itself."""

    def __init__(self, name: bytes, children: Children, ear: Ear) -> None:
        self.name = name
        self.version = b""
        self.used = time.monotonic()
        self.is_over = False
        self.ear = ear
        self._child: Running = children.start(self._wrote, self._gone)
        self._report = children.report
        self._log = EventLog()
        self._streams = UNSOLICITED
        self._waiting: dict[Any, Post] = {}
        self._posts: dict[int, Post] = {}
        self._tokens: dict[Any, Post] = {}
        self._listening: Stream | None = None
        self._buffer: deque[bytes] = deque()
        self._buffered = 0

    @property
    def is_idle(self) -> bool:
        """Whether the client neither waits nor listens; an answer that never came keeps nobody here."""
        listening = self._listening is not None and self._listening.is_open
        return not listening and not any(post.stream.is_open for post in self._posts.values())

    @property
    def waiting_bytes(self) -> int:
        """How much the child has not read yet."""
        return self._child.waiting_bytes

    # the client

    def post(self, exchange: Exchange, line: bytes, messages: list[JsonObject], version: bytes) -> None:
        """Take the messages that stand in `line`."""
        self.used = time.monotonic()
        requests = [message for message in messages if "id" in message and type(message.get("method")) is str]
        if any(request_key(request, line) in self._waiting for request in requests):
            exchange.respond(400, JSON, error_answer(requests[0]["id"], "a request with this id is on its way", {}))
            return
        through, held = self.ear.of_client(line)
        if not through:
            exchange.respond(*((200, JSON, held) if held else (202, (), b"")))
            return
        if requests:
            self._expect(exchange, requests, line, version)
        else:
            exchange.respond(202, (), b"")
        self._child.send(through)

    def _expect(self, exchange: Exchange, requests: list[JsonObject], line: bytes, version: bytes) -> None:
        self._streams += 1
        primed = (version or self.version) >= PRIMED_SINCE
        stream = Stream(exchange, self._streams, self._log, primed=primed)
        post = self._posts[stream.number] = Post(stream, requests, line)
        for key in post.keys:
            self._waiting[key] = post
        for token in post.tokens:
            self._tokens[token] = post
        if not self.version:
            stream.headers = ((SESSION_ID, self.name),)
        self._watch(exchange)
        if prefers_events(exchange.request.headers):
            stream.begin()

    def listen(self, exchange: Exchange, last_event: bytes) -> None:
        """Open the stream of what nobody asked for, or take up another after `last_event`."""
        self.used = time.monotonic()
        lost = self._log.after(last_event) if last_event else None
        number, missed = lost or (UNSOLICITED, b"")
        if number in self._posts:
            self._posts[number].stream.take_up(exchange, missed)
        elif number != UNSOLICITED:
            replay(exchange, missed)
            return
        elif self._listening is not None and self._listening.is_open and not lost:
            exchange.respond(409, JSON, error_answer(None, "this session has its one stream open already", {}))
            return
        else:
            self._listen(exchange, missed if lost else None)
        self._watch(exchange)

    def _listen(self, exchange: Exchange, missed: bytes | None) -> None:
        if self._listening is not None and missed is not None:
            self._listening.take_up(exchange, missed)
        else:
            self._listening = Stream(exchange, UNSOLICITED, self._log, primed=self.version >= PRIMED_SINCE)
            self._listening.begin()
        while self._buffer:
            self._listening.send(self._buffer.popleft())
        self._buffered = 0

    def _watch(self, exchange: Exchange) -> None:
        exchange.on_pause = self._child.pause
        exchange.on_gone = self._left

    def _left(self) -> None:
        """A client that leaves does not take back its call: it may come for the answer later."""
        self.used = time.monotonic()
        self._child.pause(False)

    def close(self) -> None:
        """End the child; streams that are open end, too."""
        if not self.is_over:
            self._child.end()
            self._end()

    def ping(self) -> None:
        """Keep the streams alive."""
        for post in self._posts.values():
            post.stream.ping()
        if self._listening is not None:
            self._listening.ping()

    def hang_up(self) -> None:
        """End the stream that would stay open for ever."""
        if self._listening is not None:
            self._listening.end()

    # the child

    def _wrote(self, lines: list[bytes]) -> None:
        for line in lines:
            if type(line) is not bytes:
                self._report("relay.line_too_long", {"what_now": "the server is ended: its message can't be delivered"})
                self._child.server.child.end_group()
                continue
            through = self.ear.of_server(line)
            if through:
                self._deliver(through)
        self.ear.rest()

    def _deliver(self, line: bytes) -> None:
        body = look(line)
        if body is None:
            parts = [part for part in look_at_batch(line) if "method" not in part]
            self._answered([id_key(part.get("id")) for part in parts], line)
            return
        if "method" in body:
            self._tell(line, body)
            return
        if not self.version:
            self.version = _negotiated(body)
        self._answered([request_key(body, line)], line)

    def _answered(self, keys: list[Any], line: bytes) -> None:
        post = None
        for key in keys:
            post = self._waiting.pop(key, None) or post
            if post is not None and key in post.keys:
                post.keys.remove(key)
        if post is None:
            return
        if post.keys:
            post.stream.send(line)
            return
        del self._posts[post.stream.number]
        for token in post.tokens:
            self._tokens.pop(token, None)
        self.used = time.monotonic()
        post.stream.finish(line)

    def _tell(self, line: bytes, body: JsonObject) -> None:
        """Bring a request or a notification of the server to the client, where it listens."""
        stream = self._stream_for(body)
        if stream is not None:
            stream.send(line)
            return
        self._buffer.append(line)
        self._buffered += len(line)
        while len(self._buffer) > BUFFER_MESSAGES or self._buffered > BUFFER_BYTES:
            self._buffered -= len(self._buffer.popleft())

    def _stream_for(self, body: JsonObject) -> Stream | None:
        params = body.get("params")
        token = id_key(params["progressToken"]) if isinstance(params, dict) and "progressToken" in params else None
        named = self._tokens.get(token) if token is not None else None
        if named is not None and named.stream.reaches:
            return named.stream
        for post in reversed(self._posts.values()):
            if post.stream.is_open:
                return post.stream
        if self._listening is not None and self._listening.is_open:
            return self._listening
        return next((post.stream for post in reversed(self._posts.values()) if post.stream.reaches), None)

    def _gone(self, exit_code: int, last_words: str) -> None:
        self._report("server.ended", {"exit_code": exit_code, "session": self.name.decode()})
        for line in self.ear.session.server_gone(exit_code, last_words, time.monotonic()):
            self._deliver(line)
        self._end()

    def _end(self) -> None:
        self.is_over = True
        self.ear.session.close(time.monotonic())
        for post in self._posts.values():
            post.stream.end()
        self._posts.clear()
        self.hang_up()


def request_key(message: JsonObject, line: bytes) -> Any:
    """Return what tells the id of a message from all others."""
    message_id = message.get("id")
    return message_id if type(message_id) is int or type(message_id) is str else id_key(exact_id(line, message_id))


def _token(request: JsonObject) -> Any:
    params = request.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    return id_key(meta["progressToken"]) if isinstance(meta, dict) and "progressToken" in meta else None


def _negotiated(body: JsonObject) -> bytes:
    result = body.get("result")
    version = result.get("protocolVersion") if isinstance(result, dict) else None
    return version.encode("ascii", "replace") if isinstance(version, str) else b"2025-03-26"
