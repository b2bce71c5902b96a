#!/usr/bin/env bash
# Checks that need no test to run: how the code is written, and what another compiler sees in it.
#
#   scripts/check.sh                # all of them
#   scripts/check.sh threads links  # only these
#   scripts/check.sh --since main tidy  # what changed since the branch left main
#   scripts/check.sh --all tidy         # the whole tree, which takes hours
#
#   format    clang-format leaves every C++ file as it is
#   threads   clang proves that what a mutex guards is touched under it (-Wthread-safety), with its other warnings as errors
#   tidy      clang-tidy on the sources that changed, without --since those of the last commit
#   shell     shellcheck on every shell script
#   links     links of the pages
#   commits   subjects of commits have at most 72 characters, and a body follows
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."

scripts/install-packages.sh build check

generated=build/release/generated   # headers that protoc makes
first_commit_checked=4f51071        # subjects up to this commit may be longer
bodies_since=2026-11-25T18:00Z      # commits before this time may lack a body
flags=(-std=c++20 -I. -isystem "$generated" -DMANGROVE_WITH_ONEDNN -fopenmp -Wall -Wextra -Wshadow -Wconversion)

in_parallel() { xargs -r -P "$(nproc)" "$@"; }

check_format() { git ls-files -z '*.h' '*.cc' | in_parallel -0 -n 64 clang-format --dry-run --Werror; }

make_headers() {
  [ -f build/release/build.ninja ] || cmake --preset release >/dev/null
  ninja -C build/release build.ninja >/dev/null  # an older build.ninja does not know files that were added since
  # shellcheck disable=SC2046  # a list of words
  ninja -C build/release $(ninja -C build/release -t targets all | sed -n 's/^\(generated.*\.pb\.h\): .*/\1/p') >/dev/null
}

# A guarded member is private: the sources that touch it include its header themselves, or lock a mutex of their own.
sources_with_locks() {
  local marks='MG_(GUARDED_BY|REQUIRES|EXCLUDES)|MutexLock'
  git grep -lE "$marks" -- '*.cc'
  git grep -lE "$marks" -- '*.h' ':!mangrove/base/mutex.h' | sed 's/.*/#include "&"/' |
    git grep -lF -f - -- '*.cc'
}
check_threads() {  # twelve sources of a module at a time: what their headers cost is paid once
  local joined=build/release/threads
  make_headers && rm -rf "$joined" && mkdir "$joined"
  sources_with_locks | sort -u | awk -F/ -v to="$joined" '{
    module = $1 "_" $2
    print "#include \"" $0 "\"" > (to "/" module "_" int(sources[module] / 12) ".cc")
    sources[module] += 1
  }'
  printf '%s\0' "$joined"/*.cc |
    in_parallel -0 -n 1 clang++ "${flags[@]}" -Wno-shadow -fsyntax-only -Wthread-safety -Werror
}

changed_sources() {
  if [ -n "$all" ]; then
    git ls-files '*.cc'
    return
  fi
  local base
  base=$(git merge-base HEAD "$since" 2>/dev/null) || return 0  # a shallow clone, or the first commit
  git diff --name-only --diff-filter=d "$base" -- '*.cc'
}
check_tidy() {
  make_headers && changed_sources | in_parallel -I{} clang-tidy --quiet {} -- "${flags[@]}"
}

check_shell() { git grep -lE '^#!.*\b(ba)?sh$' | in_parallel -n 8 shellcheck; }

check_links() { scripts/check-links.py; }

check_commits() {
  git rev-parse --verify --quiet "$first_commit_checked^{commit}" >/dev/null || return 0  # a shallow clone
  local long bare
  long=$(git log --format='%h %s' "$first_commit_checked..HEAD" | awk 'length($0) > 72 + length($1) + 1')
  [ -z "$long" ] || printf 'longer than 72 characters:\n%s\n' "$long"
  bare=$(git log --no-merges --format='%x01%at %h %s%n%b' "$first_commit_checked..HEAD" |
    awk -v RS='\001' -v since="$(date -d "$bodies_since" +%s)" '
      $1 >= since && !/\n.*[^ \n]/ { sub(/^[0-9]+ /, ""); sub(/\n.*/, ""); print }')
  [ -z "$bare" ] || printf 'without a body that says why:\n%s\n' "$bare"
  [ -z "$long$bare" ]
}

all="" since=HEAD~1
while true; do
  case ${1:-} in
    --all) all=yes && shift ;;
    --since) [ $# -gt 1 ] || { echo "check.sh: --since needs a commit" >&2; exit 2; }
      since=$2 && shift 2 ;;
    *) break ;;
  esac
done
git rev-parse --verify --quiet "$since^{commit}" >/dev/null || [ "$since" = HEAD~1 ] ||
  { echo "check.sh: --since: there is no commit '$since'" >&2; exit 2; }
[ $# -gt 0 ] || set -- format shell links commits threads tidy
failed=""
for one; do
  case $one in
    format | threads | tidy | shell | links | commits) ;;
    *) echo "check.sh: unknown '$one': expected format, threads, tidy, shell, links or commits" >&2; exit 2 ;;
  esac
  SECONDS=0
  if "check_$one"; then echo "check $one: passed, ${SECONDS} s"; else failed="$failed $one"; fi
done
[ -z "$failed" ] || { echo "check.sh: failed:$failed" >&2; exit 1; }
