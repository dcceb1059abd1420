#!/usr/bin/env bash
# Uses the library the way a host project does; one mode a call.
# usage: run.sh find_package|components|add_subdirectory|pkg_config|include_path|deb|install_tree [COMPILER]
# Exit: 0 fine, 1 not, 2 wrong call, 77 what the mode needs is not installed.
set -euo pipefail

mode=${1-}
export CXX=${2:-${CXX:-g++}}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  printf 'consumer %s: %s\n' "$mode" "$*" >&2
  exit 1
}

# fail_with_log SENTENCE: what was said before, too.
fail_with_log() {
  cat "$work/log" >&2
  fail "$@"
}

present() { bash "$root/cmake/need.sh" --ask "$1" 2>/dev/null; }

version_part() { sed -nE "s/^#define RUBATO_VERSION_$1 ([0-9]+)$/\1/p" "$root/include/rubato/version.hpp"; }
minor=$(version_part MINOR)
version=$(version_part MAJOR).$minor.$(version_part PATCH)
read -ra components <<<"$(sed -nE 's/^set\(_rubato_components (.*)\)$/\1/p' "$root/cmake/components.cmake")"

# configure_library FOLDER OPTION...: as a packager does, where nothing else is installed and nothing can be fetched.
configure_library() {
  local package nothing=()
  for package in CLI11 CUDAToolkit GTest Gloo MPI Threads Torch ZLIB benchmark nlohmann_json; do
    nothing+=("-DCMAKE_DISABLE_FIND_PACKAGE_$package=ON")
  done
  https_proxy=http://localhost:9 http_proxy=http://localhost:9 cmake -S "$root" -B "$1" "${nothing[@]}" "${@:2}" \
    >"$work/log" 2>&1 || fail_with_log "configuring the library failed"
}

# Installs into $work/prefix, then moves it: an installed tree holds no path of its own.
install_library() {
  configure_library "$work/library" -DCMAKE_INSTALL_PREFIX="$work/first"
  cmake --install "$work/library" >>"$work/log"
  mv "$work/first" "$work/prefix"
}

configure_consumer() {
  cmake -S "$here" -B "$work/build" -DSOURCE="$root" -DCMAKE_PREFIX_PATH="$work/prefix" "$@" >"$work/log" 2>&1
}

# build_and_run MODE OPTION...
build_and_run() {
  configure_consumer "-DMODE=$1" "${@:2}" || fail_with_log "configuring the consumer failed"
  cmake --build "$work/build" --parallel 2 >"$work/log" 2>&1 || fail_with_log "building the consumer failed"
  check_output "$work/build/consumer" "rubato $version: one of two waits"
}

# check_output PROGRAM EXPECTED
check_output() {
  local said
  said=$("$1") || fail "$1 ended with $?"
  [[ $said == "$2" ]] || fail "$1 said '$said', expected '$2'"
  printf '%s\n' "$said"
}

use_components() {
  local component
  for component; do
    check_output "$work/build/use_$component" "$component: 0"
  done
}

# refused PATTERN OPTION...: the consumer cannot be configured, and the message has the pattern, whatever the line breaks.
refused() {
  ! configure_consumer -DMODE=find_package -DVERSION= -DCOMPONENTS= "${@:2}" || fail "${*:2} was accepted"
  tr -s " \n" " " <"$work/log" | grep -q -e "$1" || fail_with_log "${*:2} was refused, and nothing says '$1'"
}

# Unlike CMake's imported targets, -I does not silence warnings: the headers themselves have to be clean.
compile_alone() {
  "$CXX" -std=c++20 -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wold-style-cast -Werror "$@" \
    "$here/main.cpp" -o "$work/consumer"
  check_output "$work/consumer" "rubato $version: one of two waits"
}

# with_torch VERSION FLAGS [OPTION...]: configures the consumer of a libtorch of that kind.
with_torch() {
  cmake -S "$here/torch" -B "$work/torch" -DCMAKE_PREFIX_PATH="$work/prefix" \
    "-DVERSION=$1" "-DFLAGS=$2" >"$work/log" 2>&1
}

case $mode in
  find_package)
    install_library
    build_and_run find_package -DVERSION="$version"
    refused "compatible with requested version" "-DVERSION=0.$((minor + 1))"
    refused "compatible with requested version" -DVERSION=1.0
    refused "there is no component nonsense, expected one of cuda, " -DCOMPONENTS=nonsense
    refused "there is no component gloo_ps_seam," -DCOMPONENTS=gloo_ps_seam
    # The example, with nothing to find and nothing to clone.
    ! cmake -S "$root/examples/project" -B "$work/project" -DCMAKE_DISABLE_FIND_PACKAGE_rubato=ON >"$work/log" 2>&1 ||
      fail "the example was configured without the library"
    grep -q CMAKE_PREFIX_PATH "$work/log" || fail_with_log "the example does not say what it lacks"
    ;;
  components)
    install_library
    wanted=(threads_ps ps_lite)
    # Those whose engines are installed; need.sh sees to it that all but CUDA are.
    ! present libgloo-dev || wanted+=(gloo)
    ! present libopenmpi-dev || wanted+=(mpi)
    ! present libtorch-dev || wanted+=(torch)
    if command -v nvcc >/dev/null || [[ -x /usr/local/cuda/bin/nvcc ]]; then wanted+=(cuda cuda_ps); fi
    build_and_run find_package -DVERSION="$version" "-DCOMPONENTS=$(IFS=";"; echo "${wanted[*]}")"
    use_components "${wanted[@]}"
    # An engine that is missing is named, or the component is left out if it was optional.
    refused Torch -DCMAKE_DISABLE_FIND_PACKAGE_Torch=ON -DCOMPONENTS=torch
    configure_consumer -DMODE=find_package -DCMAKE_DISABLE_FIND_PACKAGE_Torch=ON -DCOMPONENTS= "-DOPTIONAL=torch;ps_lite;nonsense" ||
      fail_with_log "optional components that are not there were not left out"
    targets=$(cmake --build "$work/build" --target help)
    [[ $targets == *use_ps_lite* && $targets != *use_torch* ]] || fail "optional components: expected ps_lite, and no torch"
    # Of libtorch below 2, clang wants a header to come first: in C++, and nowhere else.
    if present clang; then
      CXX=clang++ CC=clang with_torch 1.13.0 "" || fail_with_log "libtorch 1.13 was refused"
      [[ $(grep ivalue.h "$work/torch/compile_commands.json") =~ ^[^$'\n']*unit\.cpp[^$'\n']*$ ]] ||
        fail "libtorch 1.13: expected ivalue.h to be included first in C++, and nowhere else"
      with_torch 2.1.0 "" || fail_with_log "libtorch 2.1 was refused"
      ! grep ivalue.h "$work/torch/compile_commands.json" || fail "libtorch 2.1: ivalue.h is included"
      ! with_torch 1.13.0 -D_GLIBCXX_USE_CXX11_ABI=0 || fail "a libtorch with the old std::string was accepted"
      tr -s " \n" " " <"$work/log" | grep -q "libtorch in /opt/libtorch .* has the std::string of before C++11" ||
        fail_with_log "it does not say that libtorch has the old std::string"
    fi
    ;;
  add_subdirectory)
    build_and_run add_subdirectory
    # With hosts: they are called as in the installed package, their programs are not built unless asked for, and what is
    # installed goes to the library's own folders.
    build_and_run add_subdirectory -DRUBATO_BUILD_INTEGRATIONS=ON -DRUBATO_INSTALL=ON "-DCOMPONENTS=threads_ps;ps_lite" \
      -DCMAKE_DISABLE_FIND_PACKAGE_{CUDAToolkit,MPI,Torch}=ON
    use_components threads_ps ps_lite
    built=$(find "$work/build" -type f -name 'gloo_*' -perm -u+x)
    [[ -z $built ]] || fail "it builds $built"
    cmake --install "$work/build" --prefix "$work/prefix" >"$work/log"
    [[ -f $work/prefix/share/doc/rubato/LICENSE ]] || fail "the licence is not in share/doc/rubato"
    ;;
  pkg_config)
    command -v pkg-config >/dev/null || { echo "no pkg-config"; exit 77; }
    install_library
    export PKG_CONFIG_PATH=$work/prefix/share/pkgconfig
    [[ $(pkg-config --modversion rubato) == "$version" ]] || fail "rubato.pc says $(pkg-config --modversion rubato)"
    read -ra flags <<<"$(pkg-config --cflags rubato)"
    compile_alone "${flags[@]}"
    ;;
  include_path)
    compile_alone "-I$root/include"
    ;;
  deb)
    command -v dpkg-deb >/dev/null || { echo "no dpkg-deb"; exit 77; }
    install_library
    (cd "$work" && cpack --config library/CPackConfig.cmake) >"$work/log" 2>&1 || fail_with_log "cpack failed"
    package=$work/librubato-dev_${version}_all.deb
    [[ $(dpkg-deb -f "$package" Architecture Version) == $'Architecture: all\nVersion: '"$version" ]] ||
      fail "the package says $(dpkg-deb -f "$package")"
    rm -rf "$work/prefix"
    dpkg-deb -x "$package" "$work/root"
    diff "$root/LICENSE" "$work/root/usr/share/doc/librubato-dev/copyright" || fail "it has no copyright file"
    mv "$work/root/usr" "$work/prefix"
    build_and_run find_package -DVERSION="$version"
    # What is said on the command line counts.
    configure_library "$work/library" -DCPACK_GENERATOR=TGZ "-DCPACK_PACKAGE_CONTACT=A Name <name@localhost>"
    grep -q '^set(CPACK_GENERATOR "TGZ")' "$work/library/CPackConfig.cmake" || fail "CPACK_GENERATOR was overwritten"
    grep -q '^set(CPACK_PACKAGE_CONTACT "A Name' "$work/library/CPackConfig.cmake" || fail "CPACK_PACKAGE_CONTACT was overwritten"
    ;;
  install_tree)
    install_library
    (cd "$root" && find include -type f
      cd integrations && find ./*/include -type f | sed 's|^./[a-z_]*/||') | sort >"$work/headers"
    {
      cat "$work/headers"
      printf 'share/cmake/rubato/rubato-%s.cmake\n' "${components[@]}" gloo_ps_seam
      printf 'share/cmake/rubato/rubato%s.cmake\n' Components Config ConfigVersion Targets
      printf '%s\n' share/doc/rubato/LICENSE share/pkgconfig/rubato.pc
    } | sort >"$work/expected"
    (cd "$work/prefix" && find . -type f | sed 's|^\./||' | sort) >"$work/found"
    diff "$work/expected" "$work/found" || fail "the installed files differ (< expected, > found)"
    ! grep -rlF -e "$root" -e "$work" "$work/prefix/share" || fail "installed files hold an absolute path"
    # All of it is one component of a project that has more to install.
    cmake --install "$work/library" --component rubato_Development --prefix "$work/component" >"$work/log"
    diff -r "$work/prefix" "$work/component" || fail "not everything belongs to the component rubato_Development"
    # Headers in a folder of their own, data deeper than usual; then the same into a stage.
    rm -rf "$work/library" "$work/prefix"
    configure_library "$work/library" -DCMAKE_INSTALL_PREFIX="$work/prefix" -DCMAKE_INSTALL_INCLUDEDIR="$work/apart/include" \
      -DCMAKE_INSTALL_DATADIR=lib/data/share
    DESTDIR=$work/stage cmake --install "$work/library" >"$work/log"
    [[ ! -e $work/prefix && ! -e $work/apart ]] || fail "DESTDIR does not hold for all files"
    mv "$work/stage$work/prefix" "$work/stage$work/apart" "$work"
    (cd "$work/apart" && find . -type f | sed 's|^\./||' | sort) | diff "$work/headers" - || fail "headers in a folder of their own differ"
    configure_consumer -DMODE=find_package -Drubato_DIR="$work/prefix/lib/data/share/cmake/rubato" ||
      fail_with_log "with headers in a folder of their own, configuring the consumer failed"
    if command -v pkg-config >/dev/null; then
      export PKG_CONFIG_PATH=$work/prefix/lib/data/share/pkgconfig
      [[ $(realpath "$(pkg-config --variable=prefix rubato)") == "$(realpath "$work/prefix")" ]] ||
        fail "rubato.pc takes $(pkg-config --variable=prefix rubato) for the prefix"
      [[ $(realpath "$(pkg-config --variable=includedir rubato)") == "$(realpath "$work/apart/include")" ]] ||
        fail "rubato.pc takes $(pkg-config --variable=includedir rubato) for the folder of headers"
    fi
    ;;
  *)
    sed -nE 's/^# (usage: )/\1/p' "${BASH_SOURCE[0]}" >&2
    exit 2
    ;;
esac
