#!/usr/bin/env bash
# Installs the tools that docs/benchmarks.md compares with (guidellm, aiperf) into .venv-peers; tests never need them.
#
# `vllm bench serve` comes from .venv-vllm and the tokenizer from .live/model: tests/live/install_vllm.sh and
# `make test-live` make those.
set -euo pipefail
cd "$(dirname "$0")/../.."
GUIDELLM=0.8.1
AIPERF=0.13.0

if [ -x .venv-peers/bin/guidellm ] && [ -x .venv-peers/bin/aiperf ]; then
    echo "guidellm and aiperf are in .venv-peers" >&2
    exit 0
fi
python3 -m venv .venv-peers
.venv-peers/bin/python -m pip install --quiet --disable-pip-version-check "guidellm==$GUIDELLM" "aiperf==$AIPERF"
