# The library: headers and cxx_std_20, nothing else reaches a consumer.
file(GLOB_RECURSE RUBATO_HEADERS CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/include/rubato/*.hpp")

add_library(rubato INTERFACE)
add_library(rubato::rubato ALIAS rubato)
target_compile_features(rubato INTERFACE cxx_std_20)
target_sources(rubato INTERFACE FILE_SET HEADERS BASE_DIRS "${PROJECT_SOURCE_DIR}/include" FILES ${RUBATO_HEADERS})
if(NOT PROJECT_IS_TOP_LEVEL)
  set_target_properties(rubato PROPERTIES SYSTEM ON)  # the host's warning flags are not for our headers (CMake 3.25)
endif()
