#!/usr/bin/env bash
# Builds everything that is released for this computer and installs it in a fresh Debian: half an hour. Needs cargo-zigbuild, ziglang and maturin
# (packaging/requirements.txt), cargo-deb, lintian, mmdebstrap, and root for chroot. The argument is a folder for the files [default: target/release-check].
set -euo pipefail
cd "$(dirname "$0")/.."

out=$(realpath -m "${1:-target/release-check}")
target=$(rustc -vV | sed -n 's/^host: //p')
version=$(packaging/version.sh)
rm -rf "$out"
mkdir -p "$out"

echo "== the crates"
cargo package --workspace --locked
bytes=$(stat -c %s "${CARGO_TARGET_DIR:-target}/package/modelc-$version.crate")
test "$bytes" -le $((3 << 20))
cargo install --locked --root "$out/cargo" --path .
"$out/cargo/bin/modelc" --version --verbose

echo "== the program"
packaging/release.sh "$target" "$out/files"

echo "== the packages of Debian"
packaging/release-debian.sh "$target" "$out/files"
lintian --fail-on error --allow-root "$out"/files/*.deb

echo "== the wheel"
packaging/wheel.sh "$target" "$out/files"

echo "== a fresh Debian"
packaging/check-debian.sh "$out/files" "$out/root"

echo "== what a release has once"
for other in aarch64-apple-darwin x86_64-apple-darwin aarch64-unknown-linux-gnu; do
  # Archives of other systems, which this computer cannot build.
  test -e "$out/files/modelc-$version-$other.tar.gz" || cp "$out/files/modelc-$version-$target.tar.gz" "$out/files/modelc-$version-$other.tar.gz"
done
packaging/publish.sh "$out/files" "https://example.org/v$version"
(cd "$out/files" && sha256sum --check --quiet SHA256SUMS)
echo "everything that is released works"
