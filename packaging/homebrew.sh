#!/usr/bin/env bash
# Prints the Homebrew formula of a release. Arguments: where its files are downloaded from, and its SHA256SUMS.
set -euo pipefail
here=$(dirname "$0")
base=$1
sums=$2
version=$("$here/version.sh")

sum() {
  awk -v file="modelc-$version-$1.tar.gz" '$2 == file || $2 == "*" file { print $1; found = 1 } END { exit !found }' "$sums" ||
    { echo "$sums has no modelc-$version-$1.tar.gz" >&2; exit 1; }
}

formula=$(cat "$here/modelc.rb.in")
formula=${formula//@VERSION@/$version}
formula=${formula//@BASE@/$base}
formula=${formula//@HOME@/${base%%/releases/*}}
for target in aarch64-apple-darwin x86_64-apple-darwin aarch64-unknown-linux-gnu x86_64-unknown-linux-gnu; do
  checksum=$(sum "$target")
  formula=${formula//@$target@/$checksum}
done
echo "$formula"
