#!/usr/bin/env bash
# Checks and tests the Python package, python/, on Debian 12; installs the Debian packages that this needs.
#
#   scripts/python.sh         # check, then test
#   scripts/python.sh check   # compiles all, types (mypy --strict)
#   scripts/python.sh test    # all tests, also with the program, build/release/bin/mangrove or $MANGROVE_PROGRAM
#
# test also installs the package, without a network, and runs the notebooks.
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."

scripts/install-packages.sh python

python=/usr/bin/python3  # that of Debian, which has its packages
program=$(realpath -m -- "${MANGROVE_PROGRAM:-build/release/bin/mangrove}")
export PYTHONDONTWRITEBYTECODE=1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

check_python() {
  PYTHONPYCACHEPREFIX=$scratch/compiled PYTHONDONTWRITEBYTECODE='' "$python" -m compileall -q python/mangrove python/tests
  (cd python && mypy --cache-dir "$scratch/mypy")
}

install_python() {  # into an environment of its own, from a copy, since the build leaves files beside the sources
  cp -r python "$scratch/source"
  "$python" -m venv --system-site-packages "$scratch/installed"
  "$scratch/installed/bin/pip" install --quiet --no-index --no-build-isolation "$scratch/source"
  local version
  version=$(scripts/version.py)
  (cd / && "$scratch/installed/bin/python" - "$version" "$scratch/installed") <<'PYTHON'
import pathlib, sys
import mangrove
folder = pathlib.Path(mangrove.__file__).parent
assert folder.is_relative_to(sys.argv[2]), f"not the installed package: {folder}"
assert mangrove.__version__ == sys.argv[1], f"version {mangrove.__version__}, and the program has {sys.argv[1]}"
assert (folder / "py.typed").exists(), "the types are not installed"
PYTHON
}

test_python() {
  [ -x "$program" ] || { echo "python.sh: there is no $program: build it with scripts/build.sh release mangrove" >&2; return 1; }
  install_python
  cd python
  MANGROVE_PROGRAM=$program "$python" -W error::ResourceWarning -m unittest discover -s tests -t .
}

[ $# -gt 0 ] || set -- check test
for one; do
  case $one in
    check) check_python ;;
    test) (test_python) ;;
    *) echo "python.sh: unknown '$one': expected check or test" >&2; exit 2 ;;
  esac
  echo "python $one: passed"
done
