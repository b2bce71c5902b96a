#!/usr/bin/env bash
# Makes the Debian packages of Mangrove, mangrove_VERSION_ARCHITECTURE.deb and mangrove-sim_VERSION_ARCHITECTURE.deb, and
# looks for mistakes in them with lintian. tests/deploy/package.sh installs them.
#
#   package.sh          # for this kind of machine, in build/release
#   package.sh arm64    # for boards with 64-bit Arm processors, in build/arm64 (docs/arm64.md)
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
most_bytes=40000000  # of a program: a small board has little room
[ $# -le 1 ] || { echo "package.sh: unknown '$2': expected arm64, or nothing" >&2; exit 2; }
case ${1-} in
  "") preset=release ;;
  arm64) preset=arm64 ;;
  *) echo "package.sh: unknown '$1': expected arm64, or nothing" >&2; exit 2 ;;
esac
folder=build/$preset

scripts/install-packages.sh build package
[ $preset = release ] || scripts/arm64-sysroot.sh
scripts/build.sh $preset mangrove mangrove_share
rm -f "$folder"/mangrove*.deb
(cd "$folder" && cpack)
lintian --fail-on error --tag-display-limit 0 "$folder"/mangrove*.deb
for package in "$folder"/mangrove*.deb; do
  bytes=$(($(dpkg-deb --field "$package" Installed-Size) * 1024))
  [ "$bytes" -le "$most_bytes" ] || { echo "package.sh: $package takes $bytes bytes, more than $most_bytes" >&2; exit 1; }
  echo "$package: $(stat -c %s "$package") bytes, $bytes installed"
done
