#!/usr/bin/env bash
# Installs what is needed, builds, and runs every test, optimised; then those of most modules under AddressSanitizer and
# UndefinedBehaviorSanitizer, and those of the modules that begin threads under ThreadSanitizer.
#
#   ./test.sh            # release asan-short tsan-short
#   ./test.sh tsan       # only that one of: release asan-short asan tsan-short tsan; asan also has train and cluster,
#                        # tsan all whose code runs on several threads
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")"

scripts/install-packages.sh build test

skipped=$(mktemp)  # tests that did not run, one a line, with the reason
trap 'rm -f "$skipped"' EXIT
keep_skipped() {  # PRESET
  awk -v preset="$1" '
    /^[0-9]+\/[0-9]+ Testing: / { test = $3; seen = 0; last = "" }
    /^\[ RUN  / { reason = "" }
    collects && /^\[/ { collects = 0 }
    collects { reason = reason (reason ? " " : "") $0 }
    /: Skipped$/ { collects = 1 }
    /^\[  SKIPPED \] .* ms\)$/ { print preset ": " $4 ": " reason; seen = 1 }
    /^Test Skipped/ && !seen { print preset ": " test ": " last }
    NF && !/^-+$/ { last = $0 }
  ' "build/$1/Testing/Temporary/LastTest.log" >> "$skipped"
}

build_and_test() {  # PRESET "TARGETS" [ctest flags]
  local preset=$1 targets=$2
  shift 2
  echo "== $preset =="
  # shellcheck disable=SC2086  # a list of words
  scripts/build.sh "$preset" $targets
  ctest --preset "$preset" -j "$(nproc)" "$@" && { keep_skipped "$preset"; return; }
  echo "== what failed =="
  grep -hE -A5 ': Failure$|^\[  FAILED  \]|ERROR: |SUMMARY: ' "build/$preset/Testing/Temporary/LastTest.log" | tail -n 200
  return 1
}

run_release() { build_and_test release ""; }

sanitized() {  # PRESET MODULE...: what compiles and runs many times slower is tested where a sanitizer finds most
  local preset=$1
  shift
  build_and_test "$preset" "${*/%/_test}" -L "^($(IFS='|' && echo "$*"))$"
}
run_asan() {  # MODULE...: the modules that keep memory of their own or read what others wrote, and these
  export LSAN_OPTIONS=suppressions=$PWD/tests/lsan.supp UBSAN_OPTIONS=print_stacktrace=1
  sanitized asan base tensor graph engine data learn codec net plan infer compress "$@"
}
run_tsan() {  # MODULE...
  export TSAN_OPTIONS="suppressions=$PWD/tests/tsan.supp halt_on_error=1"
  sanitized tsan "$@"
}

[ $# -gt 0 ] || set -- release asan-short tsan-short
for one; do
  case $one in
    release) run_release ;;
    asan-short) run_asan ;;
    asan) run_asan train cluster ;;
    tsan-short) run_tsan base data net ;;
    tsan) run_tsan base data net train infer cluster ;;
    *) echo "test.sh: unknown '$one': expected release, asan-short, asan, tsan-short or tsan" >&2; exit 2 ;;
  esac
done
if [ -s "$skipped" ]; then
  echo "== $(wc -l < "$skipped") tests were skipped =="
  cat "$skipped"
fi
echo "all tests passed"
