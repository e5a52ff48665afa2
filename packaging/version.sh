#!/usr/bin/env bash
# Prints the version of modelc. A tag as argument must name it (v0.1.0), and CHANGELOG.md must have a section for it.
set -euo pipefail
cd "$(dirname "$0")/.."

version=$(sed -n '/^\[workspace.package\]/,/^$/ s/^version = "\(.*\)"/\1/p' Cargo.toml)
if [ $# -gt 0 ]; then
  if [ "$1" != "v$version" ]; then
    echo "the tag $1 is not v$version, the version in Cargo.toml" >&2
    exit 1
  fi
  if ! grep -q "^## $version" CHANGELOG.md; then
    echo "CHANGELOG.md has no section for $version" >&2
    exit 1
  fi
fi
echo "$version"
