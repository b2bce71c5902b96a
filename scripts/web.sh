#!/usr/bin/env bash
# Builds and tests the dashboard's page (web/README.md), and installs what that needs.
#
#   scripts/web.sh                # check, test and browser
#   scripts/web.sh build          # web/dist/ from web/src/; it is committed, so that nobody else needs npm
#   scripts/web.sh check          # layout and types are right, and web/dist/ is what web/src/ makes
#   scripts/web.sh stale          # only that web/src/ is as it was when web/dist/ was made; needs no npm
#   scripts/web.sh format         # lays out the sources as check wants them
#   scripts/web.sh test           # what needs no browser
#   scripts/web.sh browser        # the page in Chromium, with a server that imitates a cluster
#   scripts/web.sh real PROGRAM   # the page in Chromium, with a cluster of this program
#   scripts/web.sh pictures       # docs/pictures/dashboard-*.png
#   scripts/web.sh serve [--nodes N] [--port N]   # only the server that imitates a cluster, to work on the page
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."

web=$PWD/web
tests=$web/node_modules/.tests   # where the packages are found that the tests use
oldest_node=20

install_npm_packages() {
  command -v npm >/dev/null || scripts/install-packages.sh web
  local version
  version=$(node -p 'process.versions.node.split(".")[0]')
  [ "$version" -ge "$oldest_node" ] ||
    { echo "web.sh: this is Node.js $version, expected $oldest_node or newer: https://nodejs.org" >&2; exit 1; }
  [ "$web/node_modules/.package-lock.json" -nt "$web/package-lock.json" ] ||
    npm --prefix "$web" ci --ignore-scripts --no-audit --no-fund
}

compile_tests() { node "$web/test/bundle.mjs"; }

# What the page is made from, and what it came to.
fingerprint() { (cd "$web" && find src dist build.mjs package-lock.json tsconfig.json -type f | LC_ALL=C sort | xargs sha256sum); }

do_build() { node "$web/build.mjs" && fingerprint > "$web/built.sha256"; }

do_stale() {
  fingerprint | diff "$web/built.sha256" - > /dev/null ||
    { echo "web.sh: web/src has changed since web/dist was made; run scripts/web.sh build, and commit web/" >&2; return 1; }
}

sources() { git ls-files -- 'web/*.ts' 'web/*.tsx' 'web/*.mjs' 'web/src/*.css'; }

do_format() { sources | xargs "$web/node_modules/.bin/prettier" --log-level=warn --write; }

do_check() {
  sources | xargs "$web/node_modules/.bin/prettier" --log-level=warn --check
  "$web/node_modules/.bin/tsc" --noEmit --project "$web"
  local fresh
  fresh=$(mktemp -d)
  node "$web/build.mjs" "$fresh" >/dev/null
  if ! diff -r "$fresh" "$web/dist" >/dev/null; then
    rm -r "$fresh"
    echo "web.sh: web/dist is not what web/src makes; run scripts/web.sh build, and commit web/dist" >&2
    return 1
  fi
  rm -r "$fresh"
}

do_test() { compile_tests && node --test "$tests"/*.test.mjs; }

do_browser() {
  scripts/install-packages.sh web
  compile_tests && DIST=$web/dist node --test "$tests/mock.browser.mjs"
}

do_real() {
  scripts/install-packages.sh web
  compile_tests && MANGROVE=$(realpath "$1") node --test "$tests/real.browser.mjs"
}

do_pictures() {
  scripts/install-packages.sh web
  compile_tests && DIST=$web/dist node "$tests/pictures.mjs" docs/pictures
}

do_serve() { compile_tests && exec node "$tests/mock_server.mjs" --dist "$web/dist" "$@"; }

if [ $# -eq 0 ]; then
  for part in check test browser; do "$0" "$part"; done
  exit
fi
name=$1 && shift
case $name in
  stale) do_stale; exit ;;
  build | check | format | test | browser | pictures | serve) ;;
  real)
    if [ $# -ne 1 ] || [ ! -x "$1" ]; then
      echo "web.sh: real: expected a program, such as build/release/bin/mangrove" >&2
      exit 2
    fi ;;
  *) echo "web.sh: unknown '$name': expected build, check, stale, format, test, browser, real, pictures or serve" >&2
    exit 2 ;;
esac
install_npm_packages
SECONDS=0
"do_$name" "$@"
echo "web $name: passed, $SECONDS s"
