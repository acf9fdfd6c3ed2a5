#!/bin/sh
# Builds the wheel of the Python package into build/wheel, makes it portable by auditwheel, installs it into an
# environment of its own and runs the package's tests there, and those of dp_accounting and Opacus with tacit's accountant
# in the place of theirs: some minutes on two cores. With TORCH=1 it installs PyTorch, too (3 GB), and trains by
# Opacus' engine.
# With Python 3.12 or later the wheel serves all later versions (cp312-abi3), of which others may be named to test it, too;
# before that the one that builds it. Unless PYTHON names one, the newest on the path builds it.
# On a bare Debian 12, whose Python is 3.11, it first installs what is missing.
# usage: [PYTHON=python3.12 [LATER="python3.13 ..."]] [TORCH=1] sh tools/wheel.sh
set -eu
cd "$(dirname "$0")/.."

# The newest that has its headers and can make an environment.
found() {
  for name in python3.14 python3.13 python3.12 python3; do
    "$name" -c 'import ensurepip, os, sysconfig; os.stat(sysconfig.get_path("include") + "/Python.h")' 2>/dev/null && break
  done
  echo "$name"
}
python=${PYTHON:-$(found)}
[ "$python" != python3 ] || sh tools/install_packages.sh g++ python3 python3-dev python3-venv patchelf

rm -rf build/wheel
mkdir -p build/wheel
"$python" -m venv build/wheel/builder
build/wheel/builder/bin/pip install --quiet auditwheel patchelf cmake ninja
PATH="$PWD/build/wheel/builder/bin:$PATH" build/wheel/builder/bin/pip wheel --quiet --no-deps --wheel-dir build/wheel/plain ./python
PATH="$PWD/build/wheel/builder/bin:$PATH" build/wheel/builder/bin/auditwheel repair --wheel-dir build/wheel build/wheel/plain/*.whl

"$python" -m venv build/wheel/tested
build/wheel/tested/bin/pip install --quiet build/wheel/*.whl pytest hypothesis dp-accounting duckdb scipy
if [ -n "${TORCH:-}" ]; then
  build/wheel/tested/bin/pip install --quiet opacus
else
  build/wheel/tested/bin/pip install --quiet --no-deps opacus opt-einsum
fi
(cd python && ../build/wheel/tested/bin/python -m pytest -q)
build/wheel/tested/bin/pip download --quiet --no-deps --no-binary opacus --dest build/wheel/theirs \
  "opacus==$(build/wheel/tested/bin/pip show opacus | sed -n 's/^Version: //p')"
for source in build/wheel/theirs/*.tar.gz; do tar -xzf "$source" -C build/wheel/theirs; done
build/wheel/tested/bin/python python/tests/their_tests.py build/wheel/theirs
for later in ${LATER:-}; do
  ls build/wheel/*-cp312-abi3-*.whl
  "$later" -m venv build/wheel/later
  build/wheel/later/bin/pip install --quiet build/wheel/*.whl pytest hypothesis dp-accounting scipy
  (cd python && ../build/wheel/later/bin/python -m pytest -q)
  rm -rf build/wheel/later
done
build/wheel/tested/bin/python -c "import time; t = time.process_time(); import tacit
print(f'import: {time.process_time() - t:.3f} s')"
ls build/wheel/*.whl
