#!/usr/bin/env bash
# Builds the wheel of the Python package for a target. Arguments: the target, the folder for the wheel.
set -euo pipefail
mkdir -p "$2"
out=$(cd "$2" && pwd)
cd "$(dirname "$0")/../python"

MODELC_COMMIT=${MODELC_COMMIT:-$(git rev-parse HEAD)}
export MODELC_COMMIT CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/../target}
options=(--locked --profile dist --target "$1" --out "$out")
case $1 in
  *-linux-gnu) options+=(--zig --compatibility manylinux_2_28) ;;
esac
maturin build "${options[@]}"
