#!/usr/bin/env bash
# Installs the packages and the wheel in a fresh Debian, and runs a model in both. Arguments: the folder of the files, and one for the system.
set -euo pipefail
files=$(realpath "$1")
root=$2
cd "$(dirname "$0")/.."

rm -rf "$root"
mmdebstrap --quiet --variant=apt --include=man-db,python3-numpy,python3-pip,python3-venv bookworm "$root"
cp "$files"/*.deb "$files"/*.whl examples/digits/digits_int8.* "$root/tmp/"
cat > "$root/tmp/three_lines.py" <<'PYTHON'
import modelc, numpy
net, given, expected = (modelc.load("digits_int8.tflite"), numpy.load("digits_int8.inputs.npz"), numpy.load("digits_int8.expected.npz"))
calls = sorted(name for name in given.files if name.startswith("in"))
assert calls and all(numpy.array_equal(net(given[name]), expected[name.replace("in", "out", 1)]) for name in calls)
print(f"{len(calls)} calls give the recorded outputs")
PYTHON
chroot "$root" /bin/sh -euc '
  cd /tmp
  dpkg -i ./*.deb
  modelc --version --verbose
  man modelc | grep -q "EXIT STATUS"
  man modelc-run > /dev/null
  modelc digits_int8.tflite -o digits.o
  modelc verify digits_int8.tflite --inputs digits_int8.inputs.npz --expected digits_int8.expected.npz
  test -e /usr/share/bash-completion/completions/modelc
  test -e /usr/lib/cmake/modelc/modelc-config.cmake
  python3 -m venv --system-site-packages environment
  environment/bin/pip install --quiet --no-index --no-deps ./*.whl
  environment/bin/python three_lines.py
  environment/bin/modelc --version
'
