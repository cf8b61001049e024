"""Builds, starts and steers the compiled server in `benchmarks/mock`, pinned to a core of its own."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import trustme

SOURCES = Path(__file__).parent.parent / "mock"
FLAGS = ("-std=c11", "-O2", "-Wall", "-Wextra")


@dataclass(frozen=True, slots=True)
class Mock:
    """A running server."""

    port: int
    tls_port: int | None
    ca_file: str | None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def tls_url(self) -> str | None:
        return f"https://localhost:{self.tls_port}" if self.tls_port else None

    def set(self, *, ttft_s: float, itl_s: float, lockstep: bool = False) -> None:
        """Pace of all answers from now on; also empties the log."""
        self._get(f"/set?ttft_us={1e6 * ttft_s:.0f}&itl_us={1e6 * itl_s:.0f}&lockstep={lockstep:d}")

    def log(self) -> str:
        """One line per ended answer: request id, arrival in ns, then each chunk's send instant in ns after it."""
        return self._get("/log")

    def stats(self) -> dict[str, Any]:
        """Chunks, requests, how late chunks were sent, CPU seconds."""
        value: dict[str, Any] = json.loads(self._get("/stats"))
        return value

    def _get(self, path: str) -> str:
        with urllib.request.urlopen(self.url + path, timeout=60) as answer:
            return str(answer.read().decode())


def build(folder: Path) -> tuple[Path, bool]:
    """Compile it, with TLS where OpenSSL's headers are. Raises SystemExit with the compiler's words."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        raise SystemExit("benchmarks/mock needs a C compiler (cc or gcc); on Debian: apt-get install gcc libc6-dev")
    binary = folder / "mock"
    base = [compiler, *FLAGS, "-o", str(binary), *map(str, sorted(SOURCES.glob("*.c")))]
    for extra, tls in ((["-DWITH_TLS", "-lssl", "-lcrypto"], True), ([], False)):
        made = subprocess.run([*base, *extra], capture_output=True, text=True, check=False)
        if made.returncode == 0:
            return binary, tls
    raise SystemExit(f"benchmarks/mock does not compile:\n{made.stderr}")


@contextmanager
def mock_server(core: int) -> Iterator[Mock]:
    """One server on loopback until the block ends."""
    with tempfile.TemporaryDirectory(prefix="specwatch-bench-") as name:
        folder = Path(name)
        binary, tls = build(folder)
        port, tls_port = free_port(), free_port()
        words = [str(binary), str(port)]
        ca_file = None
        if tls:
            authority, ca_file = trustme.CA(), str(folder / "ca.pem")
            authority.cert_pem.write_to_path(ca_file)
            identity = authority.issue_cert("localhost", "127.0.0.1")
            identity.cert_chain_pems[0].write_to_path(str(folder / "cert.pem"))
            identity.private_key_pem.write_to_path(str(folder / "key.pem"))
            words += [str(tls_port), str(folder / "cert.pem"), str(folder / "key.pem")]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as server:
            try:
                os.sched_setaffinity(server.pid, {core})
                if server.stdout is None or server.stdout.readline().strip() != "ready":
                    raise SystemExit("benchmarks/mock did not start")
                yield Mock(port, tls_port if tls else None, ca_file)
            finally:
                server.kill()


def free_port() -> int:
    """A loopback port nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
