#!/usr/bin/env bash
# Installs the Debian 12 packages that Mangrove needs, and nothing if they are all there.
#
#   install-packages.sh build|test|check|package|container|kubernetes|arm64|web|bench|python...  # packages for these purposes
#   install-packages.sh --list build                                                  # only prints their names
set -euo pipefail

build="g++ cmake ninja-build ccache pkg-config libgrpc++-dev protobuf-compiler protobuf-compiler-grpc libprotobuf-dev libspdlog-dev
       libfmt-dev libyaml-cpp-dev nlohmann-json3-dev libcli11-dev libsqlite3-dev libcurl4-openssl-dev libssl-dev zlib1g-dev libgtest-dev
       libturbojpeg0-dev libpng-dev libzstd-dev libeigen3-dev libsimgrid-dev libavahi-client-dev libcpp-httplib-dev libsystemd-dev libhwy-dev ca-certificates
       libmosquitto-dev libcoap3-dev
       coinor-libcbc-dev iproute2"
# Debian's oneDNN has no fast kernels for other processors than these
[ "$(dpkg --print-architecture)" = amd64 ] && build="$build libdnnl-dev"
test="libonnx-testdata python3 curl mosquitto mosquitto-clients libcoap3-bin groff-base avahi-daemon dbus-daemon git dpkg-dev xz-utils
      python3-jsonschema python3-yaml clang libomp-dev"
check="clang clang-format clang-tidy libomp-dev shellcheck git python3"
package="dpkg-dev file lintian debootstrap gzip systemd git python3 xz-utils"
container="podman buildah runc netavark aardvark-dns iptables conmon catatonit dpkg-dev debootstrap
           python3-yaml curl"
kubernetes="python3-yaml"
# there are packages of others too
command -v kubectl > /dev/null || container="$container kubernetes-client" kubernetes="$kubernetes kubernetes-client"
web="chromium pngquant"  # to test the dashboard's page, and to take pictures of it
command -v npm > /dev/null || kubernetes="$kubernetes nodejs npm" web="$web nodejs npm"
arm64="g++-aarch64-linux-gnu qemu-user-static mmdebstrap llvm"  # to build for 64-bit Arm on another machine
python="python3-numpy python3-venv python3-setuptools python3-wheel python3-matplotlib python3-yaml python3-torch
        python3-onnx mypy jupyter-nbconvert python3-ipykernel"
bench="python3 python3-onnx python3-torch python3-matplotlib libbenchmark-dev"

only_list=""
[ "${1:-}" = --list ] && only_list=yes && shift
packages=""
for purpose in "$@"; do
  case $purpose in
    build) packages="$packages $build" ;;
    test) packages="$packages $test" ;;
    check) packages="$packages $check" ;;
    package) packages="$packages $package" ;;
    container) packages="$packages $container" ;;
    kubernetes) packages="$packages $kubernetes" ;;
    arm64) packages="$packages $arm64" ;;
    web) packages="$packages $web" ;;
    bench) packages="$packages $bench" ;;
    python) packages="$packages $python" ;;
    *) echo "install-packages: unknown purpose '$purpose': expected build, test, check, package, container, kubernetes," \
      "arm64, web, bench or python" >&2; exit 2 ;;
  esac
done

if [ -n "$only_list" ]; then
  # shellcheck disable=SC2086  # a list of words
  printf '%s\n' $packages
  exit
fi

missing=""
for package in $packages; do
  dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

as_root=""
if [ "$(id -u)" != 0 ]; then
  command -v sudo >/dev/null || { echo "install-packages: these Debian packages are missing, and there is no sudo:$missing" >&2; exit 1; }
  as_root=sudo
fi
echo "installing:$missing"
$as_root apt-get update -q
# shellcheck disable=SC2086  # a list of words
$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $missing
