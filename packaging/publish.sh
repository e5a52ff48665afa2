#!/usr/bin/env bash
# Adds what a release has once: the list of dependencies, the formula, the checksums. Arguments: the folder of the files, and where they will be.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
folder=$1
base=$2

rm -f "$folder"/{SHA256SUMS,modelc.cdx.json,modelc.rb}
python3 "$here/sbom.py" > "$folder/modelc.cdx.json"
"$here/checksums.sh" "$folder"
"$here/homebrew.sh" "$base" "$folder/SHA256SUMS" > "$folder/modelc.rb"
"$here/checksums.sh" "$folder"
