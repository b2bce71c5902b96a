#!/usr/bin/env bash
# Installs what is needed, builds, and runs every test, optimised; checks how the code is written (scripts/check.sh);
# then runs the tests of most modules under AddressSanitizer and UndefinedBehaviorSanitizer, and those of some that begin
# threads under ThreadSanitizer. Tests that were skipped are listed at the end.
#
#   ./test.sh            # check release asan-short tsan-short
#   ./test.sh tsan       # only that one of: check release python web package package-arm64 container container-arm64
#                        #   kubernetes arm64 asan-short asan tsan-short tsan
#
# asan has train, cluster, serve, dashboard, cli, exits, privacy, job and fuzz besides what asan-short has; tsan has
# serve, train and infer besides what tsan-short has. Neither runs without a name: from nothing, two cores would need
# more than an hour for them. python checks and tests the Python package with the program of release. web checks the
# dashboard's page, and tests it in Chromium with this program; it needs npm's registry, and Node.js 20. package makes
# the Debian packages and installs them in a fresh Debian 12. package-arm64 does so for 64-bit Arm, under emulation.
# container makes an image of the package, and runs a coordinator, nodes and servers in containers. container-arm64
# makes one for 64-bit Arm, and trains in it under emulation. These four need root. kubernetes renders the manifests and
# the chart, and checks them against the schemas that Kubernetes publishes; it needs npm's registry. arm64 builds for
# 64-bit Arm, and runs the tests of the modules that compute, compress, read and send under emulation.
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")"

scripts/install-packages.sh build test

skipped=$(mktemp)  # tests that did not run, one a line, with the reason
list_skipped() {  # also where a test failed
  if [ -s "$skipped" ]; then
    echo "== $(wc -l < "$skipped") tests were skipped =="
    cat "$skipped"
  fi
  rm -f "$skipped"
}
trap list_skipped EXIT
keep_skipped() {  # PRESET: ctest counts as skipped only programs of which all tests are
  sed 's/<system-out>/\n/; s/&quot;/"/g; s/&apos;/'"'"'/g; s/&lt;/</g; s/&gt;/>/g; s/&amp;/\&/g' "build/$1/tests.xml" | awk -v preset="$1" '
    /<testcase / { test = $2; gsub(/name=|"/, "", test); is_skipped = 0; last = "" }
    /<skipped / { is_skipped = 1 }
    /<\/system-out>/ { if (is_skipped) print preset ": " test ": " last }
    /^\[ RUN  / { reason = "" }
    collects && /^\[/ { collects = 0 }
    collects { reason = reason (reason ? " " : "") $0 }
    /: Skipped$/ { collects = 1 }
    /^\[  SKIPPED \] .* ms\)$/ { print preset ": " $4 ": " reason; is_skipped = 0 }
    NF { last = $0 }
  ' >> "$skipped"
}

build_and_test() {  # PRESET "TARGETS" [ctest flags]
  local preset=$1 targets=$2
  shift 2
  echo "== $preset =="
  # shellcheck disable=SC2086  # a list of words
  scripts/build.sh "$preset" $targets
  local ended=0
  ctest --preset "$preset" -j "$(nproc)" --output-junit "$PWD/build/$preset/tests.xml" "$@" || ended=1
  keep_skipped "$preset"
  [ "$ended" != 0 ] || return 0
  echo "== what failed =="
  grep -hE -A5 ': Failure$|^\[  FAILED  \]|ERROR: |SUMMARY: ' "build/$preset/Testing/Temporary/LastTest.log" | tail -n 200
  return 1
}

run_release() { build_and_test release ""; }
run_python() { echo "== python ==" && scripts/build.sh release mangrove && scripts/python.sh; }
run_web() {
  echo "== web ==" && scripts/build.sh release mangrove && scripts/web.sh && scripts/web.sh real build/release/bin/mangrove
}
run_package() { echo "== package ==" && scripts/package.sh && tests/deploy/package.sh build/release; }
run_package_arm64() { echo "== package-arm64 ==" && scripts/package.sh arm64 && tests/deploy/package.sh build/arm64; }
run_container() { echo "== container ==" && scripts/package.sh && tests/deploy/container.sh && tests/deploy/container-both.sh; }
run_container_arm64() { echo "== container-arm64 ==" && scripts/package.sh arm64 && tests/deploy/container-arm64.sh; }
run_kubernetes() { echo "== kubernetes ==" && tests/deploy/kubernetes.sh; }

run_arm64() {
  scripts/arm64-sysroot.sh
  build_and_test arm64 "mangrove base_test tensor_test graph_test engine_test data_test codec_test net_test" \
    -L '^(base|tensor|graph|engine|data|codec|net)$'
}

sanitized() {  # PRESET MODULE...: what compiles and runs many times slower is tested where a sanitizer finds most
  local preset=$1
  shift
  build_and_test "$preset" "${*/%/_test}" -L "^($(IFS='|' && echo "$*"))$"
}
run_asan() {  # MODULE...: the modules that keep memory of their own or read what others wrote, and these
  export LSAN_OPTIONS=suppressions=$PWD/tests/lsan.supp UBSAN_OPTIONS=print_stacktrace=1
  sanitized asan base identity tensor graph engine data learn codec net plan infer compress "$@"
}
run_tsan() {  # MODULE...; a longer history: a stack that cannot be restored any more fits no line of the suppressions
  export TSAN_OPTIONS="suppressions=$PWD/tests/tsan.supp halt_on_error=1 history_size=4"
  sanitized tsan "$@"
}

[ $# -gt 0 ] || set -- check release asan-short tsan-short
for one; do
  case $one in
    check) echo "== check ==" && scripts/check.sh ;;
    release) run_release ;;
    python) run_python ;;
    web) run_web ;;
    package) run_package ;;
    package-arm64) run_package_arm64 ;;
    container) run_container ;;
    container-arm64) run_container_arm64 ;;
    kubernetes) run_kubernetes ;;
    arm64) run_arm64 ;;
    asan-short) run_asan ;;
    asan) run_asan train cluster serve dashboard cli exits privacy job fuzz ;;
    tsan-short) run_tsan base data net cluster dashboard ;;
    tsan) run_tsan base data net cluster serve dashboard train infer ;;
    *) echo "test.sh: unknown '$one': expected check, release, python, web, package, package-arm64, container," \
      "container-arm64, kubernetes, arm64, asan-short, asan, tsan-short or tsan" >&2; exit 2 ;;
  esac
done
trap - EXIT
list_skipped
echo "all tests passed"
