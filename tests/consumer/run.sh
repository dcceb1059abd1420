#!/usr/bin/env bash
# Uses the library the way a host project does; one mode a call.
# usage: run.sh find_package|components|add_subdirectory|fetch_content|pkg_config|include_path|deb|install_tree [COMPILER]
set -euo pipefail

mode=$1
export CXX=${2:-${CXX:-g++}}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  printf 'consumer %s: %s\n' "$mode" "$*" >&2
  exit 1
}

has_header() { printf '#include <%s>\n' "$1" | "$CXX" -E -x c++ - >/dev/null 2>&1; }
component() { sed -nE "s/^#define RUBATO_VERSION_$1 ([0-9]+)$/\1/p" "$root/include/rubato/version.hpp"; }
minor=$(component MINOR)
version=$(component MAJOR).$minor.$(component PATCH)

# Installs into $work/prefix, then moves it: an installed tree holds no path of its own.
install_library() {
  cmake -S "$root" -B "$work/library" -DCMAKE_INSTALL_PREFIX="$work/first" -DRUBATO_BUILD_TESTING=OFF \
    -DRUBATO_BUILD_EXAMPLES=OFF >"$work/log" || { cat "$work/log" >&2; fail "configuring the library failed"; }
  cmake --install "$work/library" >>"$work/log"
  mv "$work/first" "$work/prefix"
}

configure_consumer() {
  cmake -S "$here" -B "$work/build" -DSOURCE="$root" -DCMAKE_PREFIX_PATH="$work/prefix" "$@" >"$work/log" 2>&1
}

build_and_run() {
  configure_consumer "-DMODE=$mode" "$@" || { cat "$work/log" >&2; fail "configuring the consumer failed"; }
  cmake --build "$work/build" --parallel 2 >"$work/log" 2>&1 || { cat "$work/log" >&2; fail "building the consumer failed"; }
  check_output "$work/build/consumer"
}

check_output() {
  local said
  said=$("$1")
  [[ $said == "rubato $version: "* ]] || fail "the program said '$said', expected 'rubato $version: ...'"
  printf '%s\n' "$said"
}

case $mode in
  find_package)
    install_library
    build_and_run -DVERSION="$version"
    for wrong in "0.$((minor + 1))" 1.0; do
      rm -rf "$work/build"
      ! configure_consumer -DMODE=find_package "-DVERSION=$wrong" || fail "version $wrong was accepted"
      tr -s " \n" " " <"$work/log" | grep -q "compatible with requested version" || fail "$wrong was refused for another reason"
    done
    rm -rf "$work/build"
    ! configure_consumer -DMODE=find_package -DCOMPONENTS=nonsense || fail "an unknown component was accepted"
    ;;
  components)
    install_library
    components=(threads_ps ps_lite)
    # Those whose engines are installed; need.sh sees to it that all but CUDA are.
    ! has_header gloo/context.h || components+=(gloo)
    ! command -v mpicxx >/dev/null || components+=(mpi)
    ! has_header torch/csrc/api/include/torch/version.h || components+=(torch)
    if command -v nvcc >/dev/null || [[ -x /usr/local/cuda/bin/nvcc ]]; then components+=(cuda cuda_ps); fi
    mode=find_package
    build_and_run -DVERSION="$version" "-DCOMPONENTS=$(IFS=";"; echo "${components[*]}")"
    for component in "${components[@]}"; do
      said=$("$work/build/use_$component")
      [[ $said == "$component: 0" ]] || fail "the program of component $component said '$said'"
      printf '%s\n' "$said"
    done
    # An engine that is missing is named, or the component is left out if it was optional.
    rm -rf "$work/build"
    ! configure_consumer -DMODE=find_package -DCMAKE_DISABLE_FIND_PACKAGE_Torch=ON -DCOMPONENTS=torch ||
      fail "torch was found where there is none"
    grep -q Torch "$work/log" || { cat "$work/log" >&2; fail "it does not say that Torch is missing"; }
    rm -rf "$work/build"
    build_and_run -DCMAKE_DISABLE_FIND_PACKAGE_Torch=ON "-DOPTIONAL=torch;ps_lite"
    [[ -x $work/build/use_ps_lite && ! -e $work/build/use_torch ]] || fail "optional components: expected ps_lite, and no torch"
    ;;
  add_subdirectory | fetch_content)
    build_and_run
    ;;
  pkg_config)
    install_library
    export PKG_CONFIG_PATH=$work/prefix/share/pkgconfig
    [[ $(pkg-config --modversion rubato) == "$version" ]] || fail "rubato.pc says $(pkg-config --modversion rubato)"
    read -ra flags <<<"$(pkg-config --cflags rubato)"
    # Unlike CMake's imported targets, -I does not silence warnings: the headers themselves have to be clean.
    "$CXX" -std=c++20 -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror "${flags[@]}" "$here/main.cpp" \
      -o "$work/consumer"
    check_output "$work/consumer"
    ;;
  include_path)
    "$CXX" -std=c++20 -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror "-I$root/include" "$here/main.cpp" \
      -o "$work/consumer"
    check_output "$work/consumer"
    ;;
  deb)
    command -v dpkg-deb >/dev/null || { echo "no dpkg-deb: left out"; exit 0; }
    install_library
    (cd "$work" && cpack -G DEB --config library/CPackConfig.cmake) >"$work/log" 2>&1 || { cat "$work/log" >&2; fail "cpack failed"; }
    package=$work/librubato-dev_${version}_all.deb
    [[ $(dpkg-deb -f "$package" Architecture Version) == $'Architecture: all\nVersion: '"$version" ]] ||
      fail "the package says $(dpkg-deb -f "$package")"
    rm -rf "$work/prefix"
    dpkg-deb -x "$package" "$work/root"
    mv "$work/root/usr" "$work/prefix"
    mode=find_package
    build_and_run -DVERSION="$version"
    ;;
  install_tree)
    install_library
    (cd "$root" && find include -type f
      cd integrations && find ./*/include -type f | sed 's|^./[a-z_]*/||') | sort >"$work/expected"
    printf 'share/cmake/rubato/components/%s.cmake\n' cuda cuda_ps gloo gloo_ps_seam mpi ps_lite threads_ps torch \
      >>"$work/expected"
    cat >>"$work/expected" <<END
share/cmake/rubato/rubatoConfig.cmake
share/cmake/rubato/rubatoConfigVersion.cmake
share/cmake/rubato/rubatoTargets.cmake
share/doc/rubato/LICENSE
share/pkgconfig/rubato.pc
END
    (cd "$work/prefix" && find . -type f | sed 's|^\./||' | sort) >"$work/found"
    diff "$work/expected" "$work/found" || fail "the installed files differ (< expected, > found)"
    ! grep -rlF -e "$root" -e "$work" "$work/prefix/share" || fail "installed files hold an absolute path"
    ;;
  *)
    fail "unknown mode"
    ;;
esac
