# Everything that is done more than once. `just` is in the development environment: .venv/bin/just check

export PATH := justfile_directory() / ".venv/bin" + ":" + env("PATH")

# Show what there is.
default:
    @just --list

# All that must be green before a change is handed in.
check:
    ruff format --check
    ruff check
    mypy
    python -m pytest

# Run tests; arguments go to pytest.
test *arguments:
    python -m pytest {{ arguments }}

# Measure what the relay costs, and what the learner does.
bench *arguments:
    python bench/overhead.py {{ arguments }}

# Format, and repair what lint can repair.
fmt:
    ruff format
    ruff check --fix

# Write requirements.lock anew from pyproject.toml. It needs uv, in an environment that is thrown away.
lock:
    #!/usr/bin/env bash
    set -euo pipefail
    scratch=$(mktemp -d)
    trap 'rm -rf "$scratch"' EXIT
    python3 -m venv "$scratch"
    "$scratch/bin/pip" install --quiet uv
    "$scratch/bin/uv" pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
        --no-annotate --no-header --group dev --output-file requirements.lock pyproject.toml
