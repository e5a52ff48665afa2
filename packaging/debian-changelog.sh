#!/usr/bin/env bash
# Prints CHANGELOG.md in Debian's form: one entry, the newest version. The argument is the name of the package.
set -euo pipefail
cd "$(dirname "$0")/.."

version=$(packaging/version.sh)
maintainer=$(sed -n '/^\[package.metadata.deb\]/,/^$/ s/^maintainer = "\(.*\)"/\1/p' Cargo.toml)
date=$(sed -n "s/^## $version (\(.*\))$/\1/p" CHANGELOG.md)
printf '%s (%s-1) unstable; urgency=medium\n\n' "$1" "$version"
# An item is one line there, and several short ones here.
sed -n "/^## $version/,/^## [^${version:0:1}]/ s/^- //p" CHANGELOG.md | while IFS= read -r item; do
  fold -s -w 72 <<< "$item" | sed 's/ *$//; 1 s/^/  * /; 2,$ s/^/    /'
done
printf '\n -- %s  %s\n' "$maintainer" "$(LC_ALL=C date -u -R -d "${date:-1970-01-01}")"
