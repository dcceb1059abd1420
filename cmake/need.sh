#!/usr/bin/env bash
# Sees to it that the named Debian packages are there: installs the missing ones as root with apt, else names them.
# usage: need.sh [--ask] PACKAGE...     --ask: installs nothing
set -euo pipefail

ask=0
if [[ ${1-} == --ask ]]; then
  ask=1
  shift
fi

# Headers are asked of the compiler: it knows where they may lie, also on a system that is not Debian.
has_header() { printf '#include <%s>\n' "$1" | g++ -E -x c++ - >/dev/null 2>&1; }

present() {
  case $1 in
    ninja-build) command -v ninja ;;
    fonts-dejavu-core) fc-list | grep -q DejaVuSans.ttf ;;
    clang) command -v clang++ ;;
    libclang-rt-dev) clang++ -fsanitize=address -x c++ - -o /dev/null <<<'int main() {}' ;;
    qemu-user) command -v qemu-x86_64 ;;
    libgtest-dev) has_header gtest/gtest.h ;;
    libbenchmark-dev) has_header benchmark/benchmark.h ;;
    libcli11-dev) has_header CLI/CLI.hpp ;;
    nlohmann-json3-dev) has_header nlohmann/json.hpp ;;
    libcpp-httplib-dev) has_header httplib.h ;;
    zlib1g-dev) has_header zlib.h ;;
    libgloo-dev) has_header gloo/context.h ;;
    libtorch-dev) has_header torch/csrc/api/include/torch/version.h ;;
    libopenblas0-openmp) ls /usr/lib/*/openblas-openmp/libblas.so.3 ;;
    python3-torch) python3 -c 'import torch' || /usr/bin/python3 -c 'import torch' ;;
    python3-clang-14) /usr/bin/python3 -c 'import clang.cindex' ;;
    python3-z3) /usr/bin/python3 -c 'import z3' ;;
    libopenmpi-dev) command -v mpicxx ;;
    openmpi-bin) command -v mpirun ;;
    iproute2) command -v ip ;;
    g++-*-linux-gnu) command -v "${1#g++-}-g++" ;;
    *) command -v "$1" ;;  # the command is called like its package
  esac >/dev/null 2>&1
}

list_missing() {
  missing=()
  for package; do
    present "$package" || missing+=("$package")
  done
}

list_missing "$@"
if ((${#missing[@]} > 0)) && ((!ask)) && ((EUID == 0)) && command -v apt-get >/dev/null; then
  printf 'installing %s\n' "${missing[*]}"
  export DEBIAN_FRONTEND=noninteractive
  install=(apt-get install -qq -y --no-install-recommends "${missing[@]}")
  "${install[@]}" >/dev/null 2>&1 || { apt-get update -qq && "${install[@]}" >/dev/null; }
  list_missing "$@"
fi
if ((${#missing[@]} > 0)); then
  printf 'missing (names of Debian packages): %s\n' "${missing[*]}" >&2
  exit 1
fi
