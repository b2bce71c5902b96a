#!/usr/bin/env bash
# Installs what is needed, builds, and runs every test: optimised, under AddressSanitizer and UndefinedBehaviorSanitizer, and
# the concurrent modules under ThreadSanitizer.
#
#   ./test.sh            # all of it
#   ./test.sh release    # only that one of: release asan tsan
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")"

scripts/install-packages.sh build test

run_preset() {
  local preset=$1
  shift
  echo "== $preset =="
  scripts/build.sh "$preset"
  ctest --preset "$preset" -j "$(nproc)" "$@"
}

run_release() { run_preset release; }
run_asan() {
  # protobuf and gRPC keep their tables until the process ends
  ASAN_OPTIONS=detect_leaks=1 LSAN_OPTIONS=suppressions=$PWD/tests/lsan.supp UBSAN_OPTIONS=print_stacktrace=1 run_preset asan
}
run_tsan() { TSAN_OPTIONS="suppressions=$PWD/tests/tsan.supp halt_on_error=1" run_preset tsan -L '^(base|data|net|train|infer|cluster)$'; }

for preset in "${@:-release asan tsan}"; do
  for one in $preset; do
    case $one in
      release | asan | tsan) "run_$one" ;;
      *) echo "test.sh: unknown '$one': expected release, asan or tsan" >&2; exit 2 ;;
    esac
  done
done
echo "all tests passed"
