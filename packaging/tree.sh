#!/usr/bin/env bash
# Puts what is installed into a folder, as under /usr/local: the program, the CMake package, rules for Make and Bazel, completions, pages for man,
# the runtime.
# Arguments: the program, which must run here, and the folder, which is made anew.
set -euo pipefail
modelc=$(realpath "$1")
mkdir -p "$(dirname "$2")"
folder=$(realpath -m "$2" 2>/dev/null || echo "$PWD/$2")
cd "$(dirname "$0")/.."

rm -rf "$folder"
share=$folder/share
mkdir -p "$folder"/{bin,include,lib/cmake/modelc,lib/modelc} \
  "$share"/{man/man1,bash-completion/completions,zsh/site-functions,fish/vendor_completions.d,doc/modelc,modelc/bazel/targets}

cp "$modelc" "$folder/bin/"
cp cmake/*.cmake "$folder/lib/cmake/modelc/"
cp make/modelc.mk "$share/modelc/"
cp bazel/*.bzl bazel/MODULE.bazel bazel/WORKSPACE bazel/BUILD "$share/modelc/bazel/"
cp bazel/targets/BUILD "$share/modelc/bazel/targets/"
cp README.md CHANGELOG.md LICENSE.md LICENSE-APACHE LICENSE-MIT "$share/doc/modelc/"
"$modelc" runtime -o "$folder/lib/modelc/modelc_runtime.o" --header "$folder/include/modelc.h" --message-format json 2>/dev/null

"$modelc" completions bash > "$share/bash-completion/completions/modelc"
"$modelc" completions zsh > "$share/zsh/site-functions/_modelc"
"$modelc" completions fish > "$share/fish/vendor_completions.d/modelc.fish"

"$modelc" man > "$share/man/man1/modelc.1"
commands=$("$modelc" --help | sed -n '/^Commands:/,/^$/ s/^  \([a-z][a-z]*\) .*/\1/p')
for command in $commands; do
  if [ "$command" != help ]; then
    "$modelc" man "$command" > "$share/man/man1/modelc-$command.1"
  fi
done
