# What tests, benchmarks and the lab need. An installed package comes first; else a release archive with a pinned hash.
include(FetchContent)

# rubato_need(package debian_package version url sha256 [cache_variable=value...])
macro(rubato_need package debian_package version url sha256)
  find_package(${package} QUIET)
  if(NOT ${package}_FOUND)
    message(STATUS "${package} is not installed (Debian: ${debian_package}); fetching ${version}")
    foreach(setting ${ARGN})
      string(REPLACE "=" ";" setting "${setting}")
      list(GET setting 0 name)
      list(GET setting 1 value)
      set(${name} ${value} CACHE INTERNAL "")
    endforeach()
    FetchContent_Declare(${package} URL "${url}" URL_HASH SHA256=${sha256} DOWNLOAD_EXTRACT_TIMESTAMP ON)
    FetchContent_MakeAvailable(${package})
  endif()
endmacro()

if(RUBATO_BUILD_TESTING OR (RUBATO_BUILD_EXAMPLES AND RUBATO_BUILD_LAB))
  find_package(Threads REQUIRED)
endif()

if(RUBATO_BUILD_TESTING)
  rubato_need(GTest libgtest-dev 1.14.0 https://github.com/google/googletest/archive/refs/tags/v1.14.0.tar.gz
              8ad598c73ad796e0d8280b082cebd82a630d73e73cd3c70057938a6501bba5d7 INSTALL_GTEST=OFF BUILD_GMOCK=OFF)
endif()

if(RUBATO_BUILD_BENCHMARKS)
  rubato_need(benchmark libbenchmark-dev 1.7.1 https://github.com/google/benchmark/archive/refs/tags/v1.7.1.tar.gz
              6430e4092653380d9dc4ccb45a1e2dc9259d581f4866dc0759713126056bc1d7 BENCHMARK_ENABLE_TESTING=OFF
              BENCHMARK_ENABLE_INSTALL=OFF)
endif()

if(RUBATO_BUILD_EXAMPLES AND RUBATO_BUILD_LAB)
  rubato_need(CLI11 libcli11-dev 2.3.2 https://github.com/CLIUtils/CLI11/archive/refs/tags/v2.3.2.tar.gz
              aac0ab42108131ac5d3344a9db0fdf25c4db652296641955720a4fbe52334e22 CLI11_BUILD_TESTS=OFF
              CLI11_BUILD_EXAMPLES=OFF CLI11_BUILD_DOCS=OFF)
  rubato_need(nlohmann_json nlohmann-json3-dev 3.11.2 https://github.com/nlohmann/json/archive/refs/tags/v3.11.2.tar.gz
              d69f9deb6a75e2580465c6c4c5111b89c4dc2fa94e3a85fcd2ffcd9a143d9273 JSON_BuildTests=OFF JSON_Install=OFF)
  find_package(ZLIB QUIET)
  if(NOT ZLIB_FOUND)
    message(FATAL_ERROR "rubato-lab needs zlib (Debian: zlib1g-dev); or configure with -DRUBATO_BUILD_LAB=OFF")
  endif()
endif()

if(RUBATO_BUILD_INTEGRATIONS OR (RUBATO_BUILD_EXAMPLES AND RUBATO_BUILD_LAB))
  include("${CMAKE_CURRENT_LIST_DIR}/httplib.cmake")
endif()
