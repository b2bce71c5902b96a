#!/usr/bin/env bash
# Installs what is needed, builds, and runs every test: optimised, under AddressSanitizer and UndefinedBehaviorSanitizer, and
# the concurrent modules under ThreadSanitizer.
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
run_asan() {
  export LSAN_OPTIONS=suppressions=$PWD/tests/lsan.supp UBSAN_OPTIONS=print_stacktrace=1
  build_and_test asan ""
}
run_tsan() {  # the modules with threads
  export TSAN_OPTIONS="suppressions=$PWD/tests/tsan.supp halt_on_error=1"
  build_and_test tsan "base_test data_test net_test train_test infer_test cluster_test testbed_test" -L '^(base|data|net|train|infer|cluster|testbed)$'
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
