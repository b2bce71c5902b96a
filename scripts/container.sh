#!/usr/bin/env bash
# Builds the image mangrove:VERSION for this kind of machine, from the Debian package that scripts/package.sh has made.
# tests/deploy/container.sh runs it.
#
#   container.sh                  # from debian:12-slim of Docker's registry
#   container.sh --base IMAGE     # from another image of Debian 12, e.g. of a registry at home
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
base=docker.io/library/debian:12-slim
case ${1-} in
  "") ;;
  --base) base=${2:?"expected the name of an image after --base"} ;;
  *) echo "container.sh: unknown '$1': expected --base IMAGE" >&2; exit 2 ;;
esac

scripts/install-packages.sh container
package=$(echo build/release/mangrove_*.deb)
[ -e "$package" ] || { echo "container.sh: there is no package: run scripts/package.sh first" >&2; exit 1; }
version=$(dpkg-deb --field "$package" Version)
context=$(mktemp -d)
trap 'rm -rf "$context"' EXIT
cp "$package" "$context/mangrove.deb"
cp deploy/collect-files.sh "$context"
# --format docker: the other one has no health check
buildah build --isolation chroot --network host --format docker --build-arg BASE="$base" --tag "mangrove:$version" \
  --file deploy/Containerfile "$context"
bytes=$(podman image inspect --format '{{.Size}}' "mangrove:$version")
echo "mangrove:$version: $bytes bytes"
[ "$bytes" -le 120000000 ] || { echo "container.sh: more than 120 MB is much for a small board" >&2; exit 1; }
