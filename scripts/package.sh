#!/usr/bin/env bash
# Makes the Debian packages of Mangrove for this kind of machine, build/release/mangrove_VERSION_ARCHITECTURE.deb and
# mangrove-sim_VERSION_ARCHITECTURE.deb, and looks for mistakes in them with lintian. tests/deploy/package.sh installs them.
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
most_bytes=40000000  # of a program: a small board has little room

scripts/install-packages.sh build package
scripts/build.sh release mangrove mangrove_share
rm -f build/release/mangrove*.deb
(cd build/release && cpack)
lintian --fail-on error --tag-display-limit 0 build/release/mangrove*.deb
for package in build/release/mangrove*.deb; do
  bytes=$(($(dpkg-deb --field "$package" Installed-Size) * 1024))
  [ "$bytes" -le "$most_bytes" ] || { echo "package.sh: $package takes $bytes bytes, more than $most_bytes" >&2; exit 1; }
  echo "$package: $(stat -c %s "$package") bytes, $bytes installed"
done
