"""The status page: on this machine only, and for a browser that asks for this machine by name.

The page shows what `tacit site list` does. It needs no other resource than its own three, sends
nothing anywhere, and changes nothing. A request with another host in it is refused, because a
name of somebody else may lead here (DNS rebinding).
"""

from __future__ import annotations

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from typing import Any

from tacit.deploy.standing.overview import overview
from tacit.deploy.standing.queue import Queue
from tacit.deploy.standing.site import Site, find
from tacit.errors import ConfigError, TacitError

HOST = "127.0.0.1"
"""The only address that the page is given at."""

_SECONDS = 10.0
_FRESH_SECONDS = 1.0

_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)

_FILES = {
    "/": ("page.html", "text/html; charset=utf-8"),
    "/page.js": ("page.js", "text/javascript; charset=utf-8"),
    "/page.css": ("page.css", "text/css; charset=utf-8"),
}


class Page:
    """A running status page.

    Args:
        site: the site.
        port: port to listen at; 0 for any free one.

    Raises:
        ConfigError: the port is in use.
    """

    def __init__(self, site: Site, port: int = 0) -> None:
        self._site, self._queue = site, Queue(site)
        self._lock, self._made, self._document = threading.Lock(), -_FRESH_SECONDS, b"{}"
        try:
            self._server = _Server((HOST, port), _Handler)
        except OSError as error:
            raise ConfigError(
                f"the status page cannot be given at port {port} ({error.strerror}); choose "
                "another --page"
            ) from error
        self._server.page = self
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self.port = int(self._server.server_address[1])

    @property
    def address(self) -> str:
        """Address of the page."""
        return f"http://{HOST}:{self.port}/"

    def __enter__(self) -> Page:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def document(self) -> bytes:
        """What the page shows, as JSON; made anew at most once a second."""
        with self._lock:
            if time.monotonic() - self._made > _FRESH_SECONDS:
                try:
                    found: dict[str, Any] = overview(find(self._site.folder), self._queue)
                except TacitError as error:
                    found = {"format": "tacit-site-1", "problem": str(error)}
                self._document = json.dumps(found).encode()
                self._made = time.monotonic()
            return self._document


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    page: Page


class _Handler(BaseHTTPRequestHandler):
    server_version, sys_version = "tacit", ""
    timeout = _SECONDS

    def do_GET(self) -> None:
        """Answer with one of the four resources."""
        server = self.server
        assert isinstance(server, _Server)
        hosts = {f"{name}:{server.page.port}" for name in (HOST, "localhost")}
        if self.headers.get_all("Host", []) not in [[host] for host in hosts]:
            self._answer(421, "text/plain", b"this page is for this machine only\n")
        elif self.path == "/status.json":
            self._answer(200, "application/json", server.page.document())
        elif self.path in _FILES:
            name, kind = _FILES[self.path]
            self._answer(200, kind, (files("tacit.deploy.standing") / name).read_bytes())
        else:
            self._answer(404, "text/plain", b"not found\n")

    do_HEAD = do_GET  # noqa: N815 - so named by http.server

    def _answer(self, code: int, kind: str, data: bytes) -> None:
        self.send_response(code)
        for name, value in {
            "Content-Type": kind,
            "Content-Length": str(len(data)),
            "Content-Security-Policy": _POLICY,
            "Cross-Origin-Resource-Policy": "same-origin",
            "Referrer-Policy": "no-referrer",
            "X-Content-Type-Options": "nosniff",
            "Cache-Control": "no-store",
        }.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: who looks at the page is nobody's business."""
