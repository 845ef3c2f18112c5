"""asyncio as what the pipes of a child need of a loop."""

import asyncio

from rearview.transports.loop import Callback

RETRY_SECONDS = 0.001


class AsyncLoop:
    """Watches descriptors on the running event loop.

    A regular file (standard error of a service) can't be watched; it always takes bytes, so it is simply asked again.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._files: dict[int, Callback] = {}

    def on_readable(self, fd: int, callback: Callback | None) -> None:
        """Call `callback` whenever `fd` has bytes, has ended or is broken; `None` stops that."""
        if callback is None:
            self._loop.remove_reader(fd)
        else:
            self._loop.add_reader(fd, callback)

    def on_writable(self, fd: int, callback: Callback | None) -> None:
        """Call `callback` whenever `fd` takes bytes or is broken; `None` stops that."""
        if callback is None:
            self._files.pop(fd, None)
            self._loop.remove_writer(fd)
            return
        try:
            self._loop.add_writer(fd, callback)
        except PermissionError:
            self._files[fd] = callback
            self._loop.call_soon(self._ask, fd)

    def _ask(self, fd: int) -> None:
        callback = self._files.get(fd)
        if callback is not None:
            callback()
            if fd in self._files:
                self._loop.call_later(RETRY_SECONDS, self._ask, fd)

    def after(self, seconds: float, callback: Callback) -> None:
        """Call `callback` once, `seconds` from now."""
        self._loop.call_later(seconds, callback)
