#!/bin/sh
# Makes sure that Debian packages are there.
# usage: sh tools/install_packages.sh PACKAGE...
# Exits 2, naming what is missing, where only root could install it.
set -eu

if ! command -v dpkg-query >/dev/null 2>&1; then
  echo "Not a Debian system; taking for granted what these packages hold: $*"
  exit 0
fi

missing=
for package in "$@"; do
  case $(dpkg-query -W -f '${Status}' "$package" 2>/dev/null) in
    *' ok installed') ;;
    *) missing="$missing $package" ;;
  esac
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" -ne 0 ]; then
  echo "These Debian packages are missing:$missing" >&2
  echo "As root: apt-get install --no-install-recommends$missing" >&2
  exit 2
fi

echo "Installing:$missing"
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
# shellcheck disable=SC2086  # one word a package
apt-get install -y -qq --no-install-recommends $missing >/dev/null
