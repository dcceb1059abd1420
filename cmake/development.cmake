# Settings of our own tests, examples and benchmarks. Included after the dependencies, so that these do not see them; the
# presets add -Werror (CMAKE_COMPILE_WARNING_AS_ERROR).
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release)
endif()
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CUDA_EXTENSIONS OFF)
add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wpedantic;-Wconversion;-Wshadow>"
                    "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra>")
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # False alarms: on std::string (GCC bug 105329) and on std::jthread.
  set(false_alarms -Wno-restrict -Wno-array-bounds -Wno-maybe-uninitialized -Wno-stringop-overflow
                   -Wno-stringop-overread)
  list(JOIN false_alarms "," for_nvcc)
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:${false_alarms}>" "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=${for_nvcc}>")
endif()

# Kernels compiled once, for what links this; else each unit that has a network compiles them for ten seconds, and each
# that trains one for half a minute. Units with other flags, counted ones and benchmarks have their own.
add_library(rubato_kernels STATIC EXCLUDE_FROM_ALL "${PROJECT_SOURCE_DIR}/cmake/kernels.cpp")
target_link_libraries(rubato_kernels PUBLIC rubato::rubato)
target_compile_definitions(rubato_kernels PUBLIC RUBATO_EXTERN_KERNELS)
target_compile_options(rubato_kernels PRIVATE $<$<CONFIG:Release>:-O2>)
if(RUBATO_FUZZ)  # with -O1 they take a minute, and are not what is fuzzed
  target_compile_options(rubato_kernels PRIVATE -O0)
elseif(NOT RUBATO_TEST_ALL)  # nor are they what run.sh has sanitizers for: threads, core/ and sync/
  target_compile_options(rubato_kernels PRIVATE -fno-sanitize=all)
endif()
