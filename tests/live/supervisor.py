"""One vLLM on one port whose arm a `restart` command can change, as systemd would do it on a production host.

`supervisor.py run DIR PORT` keeps the server that DIR/want asks for until SIGTERM (it runs under `guard.py` like every
server here). `supervisor.py switch DIR ARM` asks for an arm and returns once that server has been
launched, not when it serves. DIR/starts has one line per launch: what a test can count.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.live.guard import end_group  # noqa: E402 - run as a script, also from elsewhere
from tests.live.servers import launch_command, launch_environment  # noqa: E402

SWITCH_LIMIT_S = 60.0
POLL_S = 0.1
ARMS = ("off", "ngram")


def run(directory: Path, port: int) -> None:
    """Launch what is wanted, again whenever another line is asked for."""
    server: subprocess.Popen[bytes] | None = None
    launched = ""
    try:
        while True:
            wanted = _text(directory / "want")
            if wanted != launched:
                if server is not None:
                    end_group(server)
                arm = wanted.split()[0]
                with (directory / f"{arm}.log").open("ab") as log:
                    server = subprocess.Popen(
                        launch_command(port, speculative=arm == "ngram"),
                        stdin=subprocess.DEVNULL,
                        stdout=log,
                        stderr=subprocess.STDOUT,
                        env=launch_environment(),
                        start_new_session=True,
                    )
                launched = wanted
                with (directory / "starts").open("a") as starts:
                    starts.write(f"{arm}\n")
                _write(directory / "launched", wanted)
            time.sleep(POLL_S)
    finally:
        if server is not None:
            end_group(server)


def switch(directory: Path, arm: str) -> int:
    """Ask for a fresh server in this arm; 1 where nobody launches it in time."""
    if arm not in ARMS:
        sys.stderr.write(f"{arm} is none of {', '.join(ARMS)}\n")
        return 2
    wanted = f"{arm} {time.time_ns()}"
    _write(directory / "want", wanted)
    deadline = time.monotonic() + SWITCH_LIMIT_S
    while _text(directory / "launched") != wanted:
        if time.monotonic() > deadline:
            sys.stderr.write(f"the supervisor of {directory} launches nothing\n")
            return 1
        time.sleep(POLL_S)
    return 0


def _text(path: Path) -> str:
    return path.read_text() if path.exists() else ""


def _write(path: Path, text: str) -> None:
    part = path.with_name(path.name + ".part")
    part.write_text(text)
    part.replace(path)


if __name__ == "__main__":
    if sys.argv[1] == "run":
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
        run(Path(sys.argv[2]), int(sys.argv[3]))
    else:
        sys.exit(switch(Path(sys.argv[2]), sys.argv[3]))
