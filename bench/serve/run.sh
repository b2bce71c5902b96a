#!/usr/bin/env bash
# Serving: what a request through REST and gRPC takes beside a call of the engine, and what dynamic batching gives at 64 clients.
# Nothing else is to run beside it.
#
#   bench/serve/run.sh [--only overhead|batching] [--quick] [--out FILE]
# Default bench/results/serve.json.
set -euo pipefail
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
case " $* " in *" --help "* | *" -h "*) exec /usr/bin/python3 "$root/bench/serve/measure.py" --help ;; esac
"$root/scripts/install-packages.sh" build bench
"$root/scripts/build.sh" release mangrove bench_serve_load
exec /usr/bin/python3 "$root/bench/serve/measure.py" "$root/build/release/bin/mangrove" "$@"
