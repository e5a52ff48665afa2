#!/usr/bin/env bash
# Makes the packages of Debian from the tree that release.sh left. Arguments: the target, the folder for the packages.
set -euo pipefail
cd "$(dirname "$0")/.."
command -v cargo-deb > /dev/null || cargo install --locked --version '~3.8' cargo-deb
packaging/deb.sh target/packaging/tree "$2" "$1"
