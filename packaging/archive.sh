#!/usr/bin/env bash
# Packs the tree of an installation: modelc-VERSION-TARGET.tar.gz, the same bytes for the same tree.
# Arguments: the folder of the tree, the target, the folder for the archive. Prints the archive's path.
set -euo pipefail
here=$(dirname "$0")
tree=$1
name=modelc-$("$here/version.sh")-$2
mkdir -p "$3"
archive=$(cd "$3" && pwd)/$name.tar.gz

python3 "$here/pack.py" "$tree" "$name" "$archive"
echo "$archive"
