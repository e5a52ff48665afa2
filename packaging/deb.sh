#!/usr/bin/env bash
# Makes the Debian packages modelc and modelc-dev from the tree of an installation, by cargo-deb 3.8.
# Arguments: the folder of the tree, the folder for the packages, and the target of Rust [default: this computer].
set -euo pipefail
tree=$(realpath "$1")
mkdir -p "$2"
out=$(realpath "$2")
target=${3:-$(rustc -vV | sed -n 's/^host: //p')}
cd "$(dirname "$0")/.."

# The lists of files in Cargo.toml name this folder.
staged=target/packaging/debian
rm -rf "$staged"
mkdir -p "$staged"
cp -r "$tree" "$staged/tree"
packaging/debian-changelog.sh modelc > "$staged/changelog"
packaging/debian-changelog.sh modelc-dev > "$staged/changelog-dev"

cp packaging/debian-copyright "$staged/copyright"
for variant in "" dev; do
  cargo deb --package modelc --no-build --no-strip --target "$target" ${variant:+--variant "$variant"} --output "$out/"
done
