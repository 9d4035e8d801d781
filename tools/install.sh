#!/bin/bash
# Install a file of pinned requirements, PyTorch and the CDK CLI into .venv and node_modules; then touch a stamp.
# Usage: tools/install.sh REQUIREMENTS STAMP
set -euo pipefail

requirements=$1
stamp=$2
python=${PYTHON:-python3}
# PyTorch's builds for CPU and for CUDA share a version and not a hash, so it is pinned by version alone. Linux wheels of
# the default index bring CUDA along (gigabytes); pip's own settings choose another index (see the README).
torch=${MNP_TORCH:-torch==2.13.0}

say() { printf 'install: %s\n' "$*" >&2; }
fail() {
  say "$*"
  exit 1
}

"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null ||
  fail "Python 3.11 or newer is needed; $python is $("$python" --version 2>&1 || true). Try: make PYTHON=python3.12"

if [ ! -x .venv/bin/pip ]; then
  say "making .venv"
  rm -rf .venv
  if ! "$python" -m venv .venv 2>.venv-error; then
    # Debian keeps venv in a package of its own.
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
      apt-get update -qq && apt-get install -y -qq --no-install-recommends python3-venv >/dev/null
      rm -rf .venv
      "$python" -m venv .venv || fail "cannot make .venv, even with python3-venv installed"
    else
      fail "cannot make .venv: $(cat .venv-error). On Debian: apt-get install python3-venv"
    fi
  fi
  rm -f .venv-error
fi

say "installing $requirements"
pip=(.venv/bin/pip install -qq --disable-pip-version-check)
"${pip[@]}" --require-hashes --requirement "$requirements"
say "installing $torch"
"${pip[@]}" "$torch"
"${pip[@]}" --no-deps --no-build-isolation --editable .
say "installing the CDK CLI"
PATH="$PWD/.venv/bin:$PATH" .venv/bin/npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
touch "$stamp"
