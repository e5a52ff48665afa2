#!/usr/bin/env bash
# Writes SHA256SUMS beside the files of a folder, which `sha256sum --check` reads.
set -euo pipefail
cd "$1"
rm -f SHA256SUMS
# macOS has the other program.
if command -v sha256sum > /dev/null; then
  sha256sum -- * > .sums
else
  shasum -a 256 -- * > .sums
fi
mv .sums SHA256SUMS
