#!/usr/bin/env bash
# Builds the program for a target that runs here, and packs it. Arguments: the target, the folder for the archive.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
program=$("$here/build.sh" "$1")
cd "$here/.."
case $1 in
  *-linux-gnu) packaging/check-program.sh "$program" >&2 ;;
esac
packaging/tree.sh "$program" target/packaging/tree
packaging/archive.sh target/packaging/tree "$1" "$2"
