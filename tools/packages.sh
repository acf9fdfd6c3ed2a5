#!/bin/sh
# Builds what tacit is packaged as, and uses each package as a stranger would: into build/packages.
#   header   tacit_dp.hpp, the accountants as one file
#   conan    a program by the Conan recipe (Conan comes from PyPI; Eigen is Debian's)
#   vcpkg    a program by the vcpkg port; needs a checkout of vcpkg, named by VCPKG_ROOT. Where its program is not
#            built, the port's steps are run by vcpkg's own scripts alone
#   static   the calculator as one file that needs no library
#   deb      Debian packages of the calculator and of the headers
# On a bare Debian 12 it first installs what is missing.
# usage: [VCPKG_ROOT=DIR] sh tools/packages.sh [PACKAGE...]
set -eu
cd "$(dirname "$0")/.."

sh tools/install_packages.sh g++ cmake ninja-build python3 python3-venv dpkg-dev file libeigen3-dev libcli11-dev \
  nlohmann-json3-dev

out=$PWD/build/packages
mkdir -p "$out"

made_header() {
  python3 tools/single_header.py "$out/tacit_dp.hpp"
  python3 tests/structure/single_header.py --compiler=g++ -std=c++20
}

made_conan() {
  [ -x "$out/conan/bin/conan" ] || python3 -m venv "$out/conan"
  "$out/conan/bin/pip" install --quiet 'conan>=2.4'
  export CONAN_HOME="$out/conan/home"
  rm -rf "$CONAN_HOME" "$out/conan/program"
  "$out/conan/bin/conan" profile detect -vquiet
  "$out/conan/bin/conan" create -vwarning --no-remote tools/packages/debian_eigen_conan
  "$out/conan/bin/conan" create -vwarning --no-remote --settings=compiler.cppstd=20 \
    --conf="tools.cmake.cmake_layout:test_folder=$out/conan/program" --build=missing packaging/conan
}

# The port's steps, as vcpkg runs them. (Not its checks of the result, and nothing is downloaded.)
vcpkg_by_scripts() {
  installed=$out/vcpkg/installed
  for port in vcpkg-cmake vcpkg-cmake-config; do
    mkdir -p "$installed/x64-linux/share/$port"
    cp "$VCPKG_ROOT/ports/$port"/*.cmake "$installed/x64-linux/share/$port/"
    rm "$installed/x64-linux/share/$port/portfile.cmake"
  done
  cmake -DCMD=BUILD -DPORT=tacit -DVERSION=0.1.0 -DVCPKG_BASE_VERSION=2026-01-01 -DFEATURES=core -DALL_FEATURES=core \
    -DCURRENT_PORT_DIR="$PWD/packaging/vcpkg/tacit" -DTARGET_TRIPLET=x64-linux -D_HOST_TRIPLET=x64-linux \
    -DTARGET_TRIPLET_FILE="$VCPKG_ROOT/triplets/x64-linux.cmake" -D_VCPKG_INSTALLED_DIR="$installed" \
    -DBUILDTREES_DIR="$out/vcpkg/buildtrees" -DPACKAGES_DIR="$out/vcpkg/packages" -DDOWNLOADS="$out/vcpkg/downloads" \
    -DVCPKG_ROOT_DIR="$VCPKG_ROOT" -DVCPKG_CONCURRENCY="$(nproc)" -DNINJA="$(command -v ninja)" -DGIT=git \
    -DVCPKG_PORT_CONFIGS="$installed/x64-linux/share/vcpkg-cmake/vcpkg-port-config.cmake;$installed/x64-linux/share/vcpkg-cmake-config/vcpkg-port-config.cmake" \
    -P "$VCPKG_ROOT/scripts/ports.cmake"
  cp -r "$out/vcpkg/packages/tacit_x64-linux/." "$installed/x64-linux/"
}

made_vcpkg() {
  if [ -z "${VCPKG_ROOT:-}" ]; then
    echo "not tried: VCPKG_ROOT names no checkout of vcpkg"
    return
  fi
  rm -rf "$out/vcpkg"
  if [ -x "$VCPKG_ROOT/vcpkg" ]; then
    "$VCPKG_ROOT/vcpkg" install tacit --classic --overlay-ports=packaging/vcpkg \
      --overlay-ports=tools/packages/debian_eigen_vcpkg --x-install-root="$out/vcpkg/installed" \
      --x-buildtrees-root="$out/vcpkg/buildtrees" --x-packages-root="$out/vcpkg/packages"
  else
    echo "no program $VCPKG_ROOT/vcpkg: by its scripts alone"
    vcpkg_by_scripts
  fi
  cmake -S tests/structure/installed/find_package -B "$out/vcpkg/program" -G Ninja \
    -DCMAKE_TOOLCHAIN_FILE="$VCPKG_ROOT/scripts/buildsystems/vcpkg.cmake" -DVCPKG_MANIFEST_MODE=OFF \
    -DVCPKG_INSTALLED_DIR="$out/vcpkg/installed"
  cmake --build "$out/vcpkg/program"
  "$out/vcpkg/program/your_program"
}

# Built once for both.
built_static() {
  cmake --preset static
  cmake --build --preset static
}

asked() {
  answer=$(env -i "$1" epsilon --rate 0.01 --noise-multiplier 1 --steps 10000 --delta 1e-5)
  echo "$answer" | grep -q '6\.1877' || { echo "$1 answers: $answer" >&2; exit 1; }
  echo "$answer" | head -1
}

made_static() {
  built_static
  cp build/static/bin/tacit "$out/tacit"
  strip "$out/tacit"
  file "$out/tacit" | grep -q 'statically linked' || { echo "$out/tacit needs libraries" >&2; exit 1; }
  asked "$out/tacit"
}

made_deb() {
  built_static
  rm -rf "$out/deb" "$out"/*.deb
  (cd build/static && cpack -G DEB -B "$out/deb")
  cp "$out"/deb/*.deb "$out/"
  for package in "$out"/*.deb; do
    dpkg-deb --info "$package" | grep -E '^ (Package|Version|Architecture|Depends|Installed-Size):'
    dpkg-deb --extract "$package" "$out/deb/root"
  done
  asked "$out/deb/root/usr/bin/tacit"
  g++ -std=c++20 -I "$out/deb/root/usr/include" -isystem /usr/include/eigen3 tests/structure/installed/main.cpp -o "$out/deb/program"
  "$out/deb/program"
}

for package in ${*:-header conan vcpkg static deb}; do
  case $package in
    header | conan | vcpkg | static | deb) ;;
    *) echo "There is no package $package" >&2; exit 2 ;;
  esac
done
for package in ${*:-header conan vcpkg static deb}; do
  echo
  echo "$package ..."
  "made_$package"
done
