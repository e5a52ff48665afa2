#!/usr/bin/env bash
# Builds the wheel quickly and tests it: types by mypy, behaviour by pytest. The first argument is the folder of the virtual
# environment, which is made if it is not there.
set -euo pipefail
cd "$(dirname "$0")"

environment=${1:-../target/python}
if [ ! -x "$environment/bin/maturin" ]; then
  python3 -m venv "$environment"
  "$environment/bin/pip" install --quiet 'maturin>=1.16,<2' 'numpy>=1.24' ml_dtypes mypy pytest
fi
environment=$(cd "$environment" && pwd)

# Dependencies that the compiler's own build made are there already.
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/../target}
wheels=$(mktemp -d)
trap 'rm -rf "$wheels"' EXIT
"$environment/bin/maturin" build --release --locked --quiet --interpreter "$environment/bin/python" --out "$wheels"
"$environment/bin/pip" install --quiet --force-reinstall --no-deps "$wheels"/modelc-*.whl

# Outside the sources, so that the installed package is what is imported.
root=$PWD
cd "$wheels"
"$environment/bin/mypy" --strict -p modelc
"$environment/bin/mypy" --strict "$root/tests"
"$environment/bin/python" -m pytest -q -p no:cacheprovider "$root/tests"
