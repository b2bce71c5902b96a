#!/usr/bin/env bash
# The main job: installs what is needed, builds, and on an embedded cluster of four nodes trains LeNet on MNIST, evaluates it,
# and serves it as a pipeline of three stages. Further flags go to `mangrove run`; see --help there.
#
#   ./run.sh                     # a table at the end, and a run folder
#   ./run.sh --json              # one JSON object on standard output
#   ./run.sh --data-dir DIR      # where MNIST is, or is put
set -euo pipefail
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
{
  "$root/scripts/install-packages.sh" build
  "$root/scripts/build.sh" release mangrove
} >&2
exec "$root/build/release/bin/mangrove" run "$root/examples/lenet-mnist.yaml" "$@"
