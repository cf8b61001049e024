"""A loopback HTTP server that answers fixed pages, for tests that run their own event loop in the main thread."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

PAGES = Path(__file__).parents[1] / "data" / "metrics"


class CannedServer(ThreadingHTTPServer):
    """Serves `routes` (path to body); remembers what it was asked and with which headers."""

    daemon_threads = True

    def __init__(self, routes: Mapping[str, bytes], key: str | None) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.routes = routes
        self.key = key
        self.asked: list[tuple[str, str, str | None]] = []
        """Method, path and Authorization of every request."""

    @property
    def url(self) -> str:
        """Base address."""
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: CannedServer

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def log_message(self, format: str, *args: object) -> None:
        """Stay silent."""

    def _answer(self) -> None:
        given = self.headers.get("Authorization")
        self.server.asked.append((self.command, self.path, given))
        body = self.server.routes.get(self.path)
        status = 200 if body is not None else 404
        if self.server.key is not None and self.path != "/metrics" and given != f"Bearer {self.server.key}":
            status, body = 401, b"{}"
        self.send_response(status)
        self.send_header("Content-Type", "text/plain; version=0.0.4" if self.path == "/metrics" else "application/json")
        self.send_header("Content-Length", str(len(body or b"")))
        self.end_headers()
        self.wfile.write(body or b"")


def vllm_routes(
    page: str, *, version: str = "0.26.0", models: tuple[str, ...] = ("llama",), max_model_len: int = 8192
) -> dict[str, bytes]:
    """What a vLLM answers, with one of the stored metrics pages."""
    listed = [
        {"id": name, "object": "model", "root": f"org/{name}", "parent": None, "max_model_len": max_model_len}
        for name in models
    ]
    return {
        "/metrics": (PAGES / page).read_bytes(),
        "/version": json.dumps({"version": version}).encode(),
        "/v1/models": json.dumps({"object": "list", "data": listed}).encode(),
    }


@contextmanager
def canned_server(routes: Mapping[str, bytes], *, key: str | None = None) -> Iterator[CannedServer]:
    """A server for the block; with `key`, everything but the metrics page wants it as a bearer."""
    server = CannedServer(routes, key)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
