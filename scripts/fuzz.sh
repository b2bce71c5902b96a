#!/usr/bin/env bash
# Looks for bytes that a reader does not survive, guided by coverage (libFuzzer, clang 14), under AddressSanitizer and
# UndefinedBehaviorSanitizer and with 1 GB of memory.
#
#   scripts/fuzz.sh                # names the targets
#   scripts/fuzz.sh onnx           # a minute
#   scripts/fuzz.sh all 10m        # each target for ten minutes
#
# A run begins with fuzz/seeds/TARGET and what earlier runs kept in build/fuzz/corpus/TARGET. Bytes that end the reader
# go to fuzz/found/TARGET. Mend the reader, and commit the file with the mend: tests/fuzz replays it from then on.
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."

command -v clang++-14 >/dev/null || { echo "fuzz.sh: needs clang++-14 (Debian: clang-14)" >&2; exit 2; }
scripts/build.sh fuzz mangrove_fuzz
program=build/fuzz/bin/mangrove_fuzz
known=$("$program" -runs=0 2>&1 | sed -n 's/^  //p' || true)
if [ $# -eq 0 ]; then
  echo "$known"
  exit 0
fi

case ${2:-60s} in
  *m) seconds=$((${2%m} * 60)) ;;
  *) time=${2:-60s} seconds=${time%s} ;;
esac
targets=$1
[ "$targets" != all ] || targets=$known
failed=0
for target in $targets; do
  grep -qx "$target" <<<"$known" || { echo "fuzz.sh: no target '$target'; known: ${known//$'\n'/, }" >&2; exit 2; }
  corpus=build/fuzz/corpus/$target found=fuzz/found/$target
  more=()
  [ "$target" != onnx ] || more=(tests/data/onnx)
  mkdir -p "$corpus" "$found" "fuzz/seeds/$target"
  echo "== $target for $seconds s"
  MANGROVE_FUZZ_TARGET=$target "$program" "$corpus" "fuzz/seeds/$target" "$found" "${more[@]}" \
    -max_total_time="$seconds" -timeout=10 -rss_limit_mb=1024 -malloc_limit_mb=512 -max_len=65536 \
    -artifact_prefix="$found/" -print_final_stats=1 >"build/fuzz/$target.log" 2>&1 || {
    failed=1
    echo "   FOUND something: see build/fuzz/$target.log and $found"
  }
  sed -n 's/^stat::number_of_executed_units: */   executions: /p; s/^stat::peak_rss_mb: */   peak memory, MB: /p' \
    "build/fuzz/$target.log"
  rmdir --ignore-fail-on-non-empty "$found"
done
exit $failed
