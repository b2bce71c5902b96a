#!/usr/bin/env bash
# Prints which share of each module's lines the tests execute. Lines in sources (*.cc) count, those in headers do not.
#
#   scripts/coverage.sh            # tests of all modules
#   scripts/coverage.sh base net   # tests of these; a module that none of them runs through has few lines executed
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."

scripts/install-packages.sh build test
build=build/coverage
if [ $# -gt 0 ]; then
  scripts/build.sh coverage "${@/%/_test}"
  tests=(-L "^($(IFS='|' && echo "$*"))$")
else
  scripts/build.sh coverage
  tests=()
fi
find "$build" -name '*.gcda' -delete
ctest --preset coverage -j "$(nproc)" "${tests[@]}" --output-log "$build/tests.log" >/dev/null ||
  echo "coverage.sh: some tests failed, see $build/tests.log" >&2

# gcov says of each source that went into an object file:  File 'mangrove/net/mailbox.cc'  Lines executed:97.22% of 72
find "$build/mangrove" -name '*.gcno' -print0 |
  xargs -0 -n 32 -P "$(nproc)" gcov --no-output --relative-only 2>/dev/null | awk -F"[':% ]+" '
    /^File / { file = $2 }
    /^Lines executed/ && file ~ /^mangrove\/.*\.cc$/ && !(file in seen) {
      seen[file] = 1
      split(file, part, "/")
      lines[part[2]] += $5
      executed[part[2]] += $3 / 100 * $5
    }
    END {
      for (module in lines) {
        printf "%-10s %5.1f %% of %5d lines\n", module, 100 * executed[module] / lines[module], lines[module] | "sort"
        all += lines[module]; all_executed += executed[module]
      }
      close("sort")
      if (all) printf "%-10s %5.1f %% of %5d lines\n", "all", 100 * all_executed / all, all
    }'
