#!/usr/bin/env bash
# Builds the compiler as it is installed, and prints its path. The argument is a target of Rust [default: this computer].
# For Linux, cargo-zigbuild links against an old C library, so the program runs on distributions since 2019.
set -euo pipefail
cd "$(dirname "$0")/.."

glibc=2.28
target=${1:-$(rustc -vV | sed -n 's/^host: //p')}
MODELC_COMMIT=${MODELC_COMMIT:-$(git rev-parse HEAD)}
export MODELC_COMMIT
options=(--locked --profile dist --bin modelc)
program=modelc
case $target in
  *-linux-gnu)
    cargo zigbuild "${options[@]}" --target "$target.$glibc" >&2
    ;;
  *-windows-*)
    # No library of the C compiler needs to be installed beside it.
    RUSTFLAGS="${RUSTFLAGS:-} -C target-feature=+crt-static" cargo build "${options[@]}" --target "$target" >&2
    program=modelc.exe
    ;;
  *)
    cargo build "${options[@]}" --target "$target" >&2
    ;;
esac
echo "${CARGO_TARGET_DIR:-target}/$target/dist/$program"
