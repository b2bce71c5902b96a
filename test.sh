#!/usr/bin/env bash
# Installs what is needed, builds, and runs every test, optimised; then those of most modules under AddressSanitizer and
# UndefinedBehaviorSanitizer, and those of the concurrent ones under ThreadSanitizer.
#
#   ./test.sh            # all of it
#   ./test.sh release    # only that one of: release asan tsan
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")"

scripts/install-packages.sh build test

build_and_test() {  # PRESET "TARGETS" [ctest flags]
  local preset=$1 targets=$2
  shift 2
  echo "== $preset =="
  # shellcheck disable=SC2086  # a list of words
  scripts/build.sh "$preset" $targets
  ctest --preset "$preset" -j "$(nproc)" "$@"
}

run_release() { build_and_test release ""; }

sanitized() {  # PRESET MODULE...: what compiles and runs many times slower is tested where a sanitizer finds most
  local preset=$1
  shift
  build_and_test "$preset" "${*/%/_test}" -L "^($(IFS='|' && echo "$*"))$"
}
run_asan() {  # the modules that keep memory of their own or read what others wrote
  export LSAN_OPTIONS=suppressions=$PWD/tests/lsan.supp UBSAN_OPTIONS=print_stacktrace=1
  sanitized asan base tensor graph engine data learn codec net plan train infer compress cluster
}
run_tsan() {  # the modules with threads
  export TSAN_OPTIONS="suppressions=$PWD/tests/tsan.supp halt_on_error=1"
  sanitized tsan base data net train infer cluster
}

for preset in "${@:-release asan tsan}"; do
  for one in $preset; do
    case $one in
      release | asan | tsan) "run_$one" ;;
      *) echo "test.sh: unknown '$one': expected release, asan or tsan" >&2; exit 2 ;;
    esac
  done
done
echo "all tests passed"
