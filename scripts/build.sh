#!/usr/bin/env bash
# Configures and builds a CMake preset:  build.sh release|debug|coverage|asan|tsan|fuzz [TARGET...]
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
preset=$1
shift
[ -f "build/$preset/build.ninja" ] || cmake --preset "$preset"
cmake --build "build/$preset" ${1:+--target "$@"}
