#!/bin/sh
# lipo -create -output OUT IN...: here the parts one after another, to show that each arrives.
[ "$1" = -create ] && [ "$2" = -output ] || exit 2
out=$3
shift 3
cat "$@" > "$out"
