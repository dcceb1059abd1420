# Rules for tests/CMakeLists.txt.
include(GoogleTest)
find_package(Python3 REQUIRED COMPONENTS Interpreter)

# What a test takes is mostly its compilation. tests/run.sh optimises where most is computed (lab, kernels, properties,
# models, soak), with -Og, which takes g++ a quarter less time than -O1, and gives a lab that is as quick; tests/long.sh
# the others too, with -O1: -O3 takes twice as long as that.
set(RUBATO_TEST_OPTIMISATION $<$<CONFIG:Release>:$<IF:$<BOOL:${RUBATO_TEST_ALL}>,-O1,-O0>>)

# Parsing <gtest/gtest.h> takes most of the time of a small test file, so the test programs share one parsed copy.
add_library(test_prelude OBJECT "${PROJECT_SOURCE_DIR}/cmake/test_prelude.cpp")
target_link_libraries(test_prelude PUBLIC rubato::rubato GTest::gtest Threads::Threads)
target_compile_definitions(test_prelude PUBLIC RUBATO_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
target_compile_options(test_prelude PRIVATE ${RUBATO_TEST_OPTIMISATION})
target_precompile_headers(test_prelude PRIVATE <gtest/gtest.h>)

# Under sanitizers, and with torch, the start of a process takes longer than most tests do.
option(RUBATO_TEST_BY_MODULE "Two ctest entries for each module instead of one for each test" OFF)

# rubato_test_module(core): program test_core from the *_test.cpp in core/ and below it, each of its tests one ctest entry
# with label `core`, and with what RUBATO_TEST_PROPERTIES says. Further arguments are linked; a module without sources is
# left out.
function(rubato_test_module module)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${module}/*_test.cpp")
  if(NOT sources)
    return()
  endif()
  add_executable(test_${module} ${sources})
  target_include_directories(test_${module} PRIVATE "${CMAKE_CURRENT_SOURCE_DIR}")
  target_link_libraries(test_${module} PRIVATE rubato_kernels GTest::gtest_main Threads::Threads ${ARGN})
  target_compile_definitions(test_${module} PRIVATE RUBATO_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  set(optimisation $<$<CONFIG:Release>:-Og>)
  if("rubato::torch" IN_LIST ARGN)  # whose macros say something of the standard library
    if(TARGET torch_images)
      target_precompile_headers(test_${module} REUSE_FROM torch_images)
    endif()
  elseif(NOT module MATCHES "^(properties|model)$")  # these compute; what has other flags cannot share what was parsed
    set(optimisation ${RUBATO_TEST_OPTIMISATION})
    if("lab" IN_LIST ARGN)
      target_precompile_headers(test_${module} PRIVATE <gtest/gtest.h> $<TARGET_PROPERTY:lab,PRECOMPILE_HEADERS>)
    else()
      target_precompile_headers(test_${module} REUSE_FROM test_prelude)
    endif()
  endif()
  target_compile_options(test_${module} PRIVATE ${optimisation})
  if(RUBATO_TEST_BY_MODULE)
    foreach(half 0 1)
      add_test(NAME ${module}.${half} COMMAND test_${module} --gtest_brief=1)
      set_tests_properties(${module}.${half} PROPERTIES LABELS ${module} ${RUBATO_TEST_PROPERTIES}
                           ENVIRONMENT "GTEST_TOTAL_SHARDS=2;GTEST_SHARD_INDEX=${half}")
    endforeach()
  else()
    gtest_discover_tests(test_${module} TEST_PREFIX ${module}. DISCOVERY_MODE PRE_TEST
                         PROPERTIES LABELS ${module} ${RUBATO_TEST_PROPERTIES})
  endif()
endfunction()

# rubato_test_tree(name command...): a check of the source tree, the same in every preset; label `tree`. One that lacks
# what it needs ends with 77.
function(rubato_test_tree name)
  add_test(NAME ${name} COMMAND ${ARGN})
  set_tests_properties(${name} PROPERTIES LABELS tree SKIP_RETURN_CODE 77 ENVIRONMENT PYTHONDONTWRITEBYTECODE=1)
endfunction()
