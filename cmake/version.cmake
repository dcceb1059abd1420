# RUBATO_VERSION from include/rubato/version.hpp, the only place where the version is written.
file(STRINGS "${CMAKE_CURRENT_LIST_DIR}/../include/rubato/version.hpp" lines REGEX "^#define RUBATO_VERSION_")
string(REGEX REPLACE ".*MAJOR ([0-9]+).*MINOR ([0-9]+).*PATCH ([0-9]+).*" "\\1.\\2.\\3" RUBATO_VERSION "${lines}")
if(NOT RUBATO_VERSION MATCHES "^[0-9]+\\.[0-9]+\\.[0-9]+$")
  message(FATAL_ERROR "include/rubato/version.hpp: expected RUBATO_VERSION_MAJOR, _MINOR and _PATCH, found '${lines}'")
endif()
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${CMAKE_CURRENT_LIST_DIR}/../include/rubato/version.hpp")
