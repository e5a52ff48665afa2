#!/usr/bin/env bash
# The pre-commit hook: inspects each model that is committed. Arguments: options of `modelc inspect`, such as --require LIMITS, then the models.
set -euo pipefail

options=()
models=()
for argument in "$@"; do
  case $argument in
    *.tflite | *.pte | *.bpte) models+=("$argument") ;;
    *) options+=("$argument") ;;
  esac
done
status=0
for model in "${models[@]}"; do
  # What it lists is of interest in no commit; errors go to standard error.
  "${MODELC:-modelc}" inspect "$model" ${options[@]+"${options[@]}"} > /dev/null || status=1
done
exit $status
