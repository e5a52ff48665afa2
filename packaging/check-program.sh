#!/usr/bin/env bash
# Checks the program that is released for Linux: its size, the libraries that it needs, and the versions of the C library's symbols.
set -euo pipefail
program=$1
most=$((15 << 20))
glibc=2.28

bytes=$(stat -c %s "$program")
echo "$bytes bytes"
if [ "$bytes" -gt "$most" ]; then
  echo "more than $most" >&2
  exit 1
fi
needed=$(readelf --dynamic "$program" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | sort | tr '\n' ' ')
echo "needs $needed"
for library in $needed; do
  case $library in
    libc.so.6 | libm.so.6 | libpthread.so.0 | libdl.so.2 | librt.so.1 | ld-linux-*) ;;
    *)
      echo "$library is no part of the C library" >&2
      exit 1
      ;;
  esac
done
newest=$(readelf --version-info "$program" | grep -o 'GLIBC_[0-9.]*' | sed 's/GLIBC_//' | sort -uV | tail -n 1)
echo "needs version $newest of the C library"
if [ "$(printf '%s\n' "$newest" "$glibc" | sort -V | tail -n 1)" != "$glibc" ]; then
  echo "newer than $glibc" >&2
  exit 1
fi
