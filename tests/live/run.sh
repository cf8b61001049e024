#!/usr/bin/env bash
# Runs the live tier (`make test-live`): installs vLLM and writes the model once, then pytest; decides nothing itself.
#
# Where vLLM cannot be installed the tests are skipped with the reason; SPECWATCH_REQUIRE_LIVE=1 makes that a failure.
# Arguments go to pytest.
set -uo pipefail
cd "$(dirname "$0")/../.."
mkdir -p .live

tests/live/install_vllm.sh
status=$?
if [ "$status" -eq 0 ]; then
    # A model of other settings is another model: the stamp is the hash of the script that wrote it.
    stamp=$(sha256sum tests/live/make_model.py | cut -c1-12)
    if [ "$(cat .live/model/.stamp 2>/dev/null)" != "$stamp" ]; then
        rm -rf .live/model
        .venv-vllm/bin/python tests/live/make_model.py .live/model || exit 1
        echo "$stamp" >.live/model/.stamp
    fi
elif [ "$status" -ne 69 ]; then
    echo "tests/live/install_vllm.sh ended with status $status" >&2
    exit "$status"
fi
# Server logs, configs and results of the last run stay in .live/pytest.
exec .venv/bin/python -m pytest tests/live -m live --basetemp=.live/pytest "$@"
