#!/usr/bin/env bash
# Installs a release into a folder: downloads the archive for this computer, compares its checksum, unpacks it.
# Arguments: where the release's files are, the version, the folder. Prints the folder of the program.
set -euo pipefail
base=$1
version=$2
folder=$3

case $(uname -s)-$(uname -m) in
  Linux-x86_64) target=x86_64-unknown-linux-gnu ;;
  Linux-aarch64 | Linux-arm64) target=aarch64-unknown-linux-gnu ;;
  Darwin-arm64) target=aarch64-apple-darwin ;;
  Darwin-x86_64) target=x86_64-apple-darwin ;;
  MINGW*-x86_64 | MSYS*-x86_64) target=x86_64-pc-windows-msvc ;;
  *)
    echo "no release of modelc is for $(uname -s) on $(uname -m); build it: cargo install --path ." >&2
    exit 1
    ;;
esac
archive=modelc-$version-$target.tar.gz

downloads=$(mktemp -d)
trap 'rm -rf "$downloads"' EXIT
for file in "$archive" SHA256SUMS; do
  curl --fail --silent --show-error --location --retry 3 --output "$downloads/$file" "$base/$file"
done
expected=$(awk -v file="$archive" '$2 == file || $2 == "*" file { print $1 }' "$downloads/SHA256SUMS")
# macOS has the other program.
if command -v sha256sum > /dev/null; then
  found=$(sha256sum "$downloads/$archive" | cut -d' ' -f1)
else
  found=$(shasum -a 256 "$downloads/$archive" | cut -d' ' -f1)
fi
if [ -z "$expected" ] || [ "$expected" != "$found" ]; then
  echo "the checksum of $archive is $found; SHA256SUMS says ${expected:-nothing}" >&2
  exit 1
fi
mkdir -p "$folder"
tar -xzf "$downloads/$archive" -C "$folder" --strip-components=1
(cd "$folder/bin" && pwd)
