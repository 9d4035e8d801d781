#!/bin/bash
# Install what the launchers start, and the PyTorch of .venv, into .venv-frameworks; then touch a stamp.
# Usage: tools/install-frameworks.sh REQUIREMENTS STAMP
set -euo pipefail

requirements=$1
stamp=$2
torch=$(.venv/bin/python -c 'from importlib.metadata import version; print("torch==" + version("torch"))')

printf 'install: making .venv-frameworks (4 GB) of %s and %s\n' "$torch" "$requirements" >&2
rm -rf .venv-frameworks
.venv/bin/python -m venv .venv-frameworks
pip=(.venv-frameworks/bin/pip install -qq --disable-pip-version-check)
"${pip[@]}" "$torch"
# PyTorch is there already and not pinned by hash; DeepSpeed is built here and finds it.
"${pip[@]}" --no-deps --no-build-isolation --require-hashes --requirement "$requirements"
touch "$stamp"
