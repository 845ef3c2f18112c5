"""The HTTP server behind a client on standard input and output: its session, and what is on its way to it.

Lines go out in the client's order. What follows a handshake waits for it; all else goes at once, each on a request of
its own.
"""

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from rearview.core.actions import ToServer
from rearview.core.framing import one_line
from rearview.core.message import id_key, look, may_be_message
from rearview.transports.http_client import Listener, Sent
from rearview.transports.http_heads import Headers, field
from rearview.transports.http_upstream_message import Message, as_answer
from rearview.transports.http_upstream_post import Post
from rearview.transports.http_upstream_refusal import is_lost_session, moved_to, why_refused
from rearview.transports.http_upstream_session import ServerSession
from rearview.transports.http_upstream_stream import Unsolicited
from rearview.transports.judge import Report

MOVES_LIMIT = 3
_REDIRECT, _UNAUTHORIZED = 300, 401
_GATES = frozenset({"initialize", "notifications/initialized"})

ToClient = Callable[[bytes], None]
Lose = Callable[[Any, str, dict[str, Any]], None]
"""Answers a request, by its exact id, that the server will not answer."""


class Upstream:
    """Sends messages of the client and hands on what the server says.

    `on_idle` is called whenever nothing of the client's is on its way any more.
    """

    def __init__(self, session: ServerSession, to_client: ToClient, lose: Lose, report: Report) -> None:
        self.on_idle: Callable[[], None] = _nothing
        self.was_reached = False
        self.session = session
        self._to_client, self._lose, self._report = to_client, lose, report
        self._reported: set[str] = set()
        self._stream = Unsolicited(self)
        self._posts: set[Post] = set()
        self._open: dict[Any, Post] = {}
        self._gate: Post | None = None
        self._again: list[Post] = []
        self._queue: deque[Message] = deque()
        self._paused = False

    @property
    def waiting(self) -> int:
        """How many messages of the client are on their way, or have no answer yet."""
        return len(self._posts) + len(self._queue)

    @property
    def unsent_bytes(self) -> int:
        """How much the server has not taken yet."""
        queued = sum(len(message.body) for message in self._queue)
        return queued + sum(post.sent.unsent_bytes for post in self._posts if post.sent is not None)

    def send(self, line: bytes) -> None:
        """Send one line of the client, now or when a handshake is over."""
        message = Message(line)
        if self._gate is not None and not message.is_reply:
            self._queue.append(message)
        elif message.method != "notifications/cancelled" or not self._cancelled(message):
            self._go(Post(self, message))

    def _cancelled(self, message: Message) -> bool:
        """Do what a cancellation asks for; false if it is for the server to do."""
        post = self._open.get(id_key(message.params.get("requestId")))
        if post is None or not post.message.modern:
            if post is not None:
                post.open.clear()
            # A server that has no sessions of its own hears of it, too: it may be one that needs none.
            return False
        for key in post.message.requests:
            self._open.pop(key, None)
        post.give_up()
        self.done(post)
        return True

    def _go(self, post: Post) -> None:
        message = post.message
        if message.method in _GATES:
            self._gate = post
            if message.method == "initialize":
                self.session.handshake.start(message.body + b"\n")
                self._stream.stop()
            else:
                self.session.handshake.initialized(message.body + b"\n")
        for key in message.requests:
            self._open[key] = post
        self._posts.add(post)
        post.go()

    # what posts and streams ask for

    def post(self, post: Post) -> Sent:
        """Send what a post has."""
        post.session = b"" if post.message.modern or post.message.method == "initialize" else self.session.name
        return self.session.post(post.message, post)

    def get(self, last_id: bytes, listener: Listener) -> Sent:
        """Open a stream, or go on with one."""
        return self.session.get(last_id, listener)

    def reached(self, post: Post, headers: Headers) -> None:
        """The server takes a message."""
        self.was_reached = True
        if post.message.method == "initialize":
            self.session.named(headers)
        if self._paused and post.sent is not None:
            post.sent.pause(True)

    def deliver(self, data: bytes) -> None:
        """Hand on a message of a stream, and see which request it answers."""
        line = one_line(data)
        content = look(line)
        key = id_key(content["id"]) if content is not None and "method" not in content and "id" in content else None
        post = self._open.get(key) if key is not None else None
        if content is None or post is None:
            self._to_client(line)
        else:
            self._answered(post, key, line, content)

    def _answered(self, post: Post, key: Any, line: bytes, content: Mapping[str, Any] | None = None) -> None:
        self._open.pop(key, None)
        post.open.pop(key, None)
        method = post.message.method
        if method in {"initialize", "tools/list"}:
            content = content or look(line) or {}
            result = content.get("result")
            if method == "initialize":
                self._greeted(post, key, line, content)
                return
            if type(result) is dict:
                self.session.tools.learn(result)
        self._to_client(line)

    def _greeted(self, post: Post, key: Any, line: bytes, content: Mapping[str, Any]) -> None:
        """The server has answered a handshake, the client's or ours."""
        follows = self.session.greeted(key, content)
        if follows is None:
            self._to_client(line)
        if isinstance(follows, ToServer):
            self._go(Post(self, Message(follows.line)))
        elif self._gate is post:
            self._pass_gate()

    def answered(self, post: Post, status: int, headers: Headers, body: bytes) -> None:
        """A post has its whole answer, and it was no stream."""
        if status >= _REDIRECT:
            self._refused(post, status, headers, body)
            return
        if post.open and not may_be_message(body):
            kind = field(headers, b"content-type").decode("latin-1") or "nothing"
            self.lost(post, f"the server answered with {kind} ({status}); is this the address of an MCP server?")
            return
        if body:
            if len(post.open) == 1:
                self._answered(post, next(iter(post.open)), one_line(body))
            else:
                post.open.clear()
                self._to_client(one_line(body))
        if post.message.method == "notifications/initialized":
            self._stream.start()
        self.done(post)

    # what goes wrong

    def _refused(self, post: Post, status: int, headers: Headers, body: bytes) -> None:
        if post.session and not post.is_renewed and is_lost_session(status, body):
            post.is_renewed = True
            if self.renew(post):
                return
        target = moved_to(self.session.origin, status, headers)
        if target and post.moves < MOVES_LIMIT:
            post.moves += 1
            self.session.target = target
            post.go()
            return
        readable = status != _UNAUTHORIZED and len(post.open) == 1
        answer = as_answer(body, post.message) if readable else None
        if answer is None:
            self.lost(post, why_refused(status, headers, body), {"status": status})
            return
        self._answered(post, next(iter(post.open)), answer)
        self.done(post)

    def renew(self, post: Post | None = None) -> bool:
        """Begin the session anew, then send `post` again; false if there is no handshake to do it with."""
        if post is not None and post.session != self.session.name and self._gate is None:
            post.go()
            return True
        if self._gate is None or self._gate is post:
            lines = self.session.handshake.replay()
            if not lines:
                return False
            self._stream.stop()
            self._again += [post] if post is not None else []
            self._report("server.session_lost", {"what_now": "began a new one"})
            again = self._gate = Post(self, Message(lines[0]))
            self._posts.add(again)
            self._open.update(dict.fromkeys(again.open, again))
            again.go()
        elif post is not None:
            self._again.append(post)
        return True

    def lost(self, post: Post, why: str, data: dict[str, Any] | None = None) -> None:
        """There will be no answer."""
        for key, own_id in post.open.items():
            self._open.pop(key, None)
            if not (type(key) is str and self.session.handshake.answered(key, {})):
                self._lose(own_id, why, data or {})
        if (not post.message.requests or post.message.method == "initialize") and why not in self._reported:
            self._reported.add(why)
            self._report("server.refused", {"reason": why, "message": post.message.method[:80]})
        post.open.clear()
        self.done(post)

    def done(self, post: Post) -> None:
        """A post is over."""
        self._posts.discard(post)
        for key in post.message.requests:
            if self._open.get(key) is post:
                del self._open[key]
        if self._gate is post:
            self._pass_gate()
        if not self._posts and not self._queue:
            self.on_idle()

    def _pass_gate(self) -> None:
        self._gate = None
        again, self._again = self._again, []
        for post in again:
            post.go()
        while self._queue and self._gate is None:
            self._go(Post(self, self._queue.popleft()))

    # the edge's wishes

    def pause(self, paused: bool) -> None:
        """Take nothing from the server for a while, or go on."""
        self._paused = paused
        everything: tuple[Post | Unsolicited, ...] = (*self._posts, self._stream)
        for each in everything:
            if each.sent is not None:
                each.sent.pause(paused)

    def end(self, listener: Listener) -> None:
        """Give up what is on its way, and tell the server that the session is over; `listener` hears when it knows."""
        self._stream.stop()
        for post in list(self._posts):
            post.give_up()
        self.session.end(listener)


def _nothing() -> None:
    """Nobody listens."""
