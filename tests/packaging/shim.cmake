# Just enough of vcpkg's script helpers to run a header-only portfile with `cmake -P`.
set(CURRENT_INSTALLED_DIR "${CURRENT_PACKAGES_DIR}")
cmake_path(GET PORT_DIR FILENAME PORT)

function(shim_run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${ARGN}\n${output}")
  endif()
endfunction()

function(vcpkg_cmake_configure)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "SOURCE_PATH" "OPTIONS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "vcpkg_cmake_configure: unexpected ${arg_UNPARSED_ARGUMENTS}")
  endif()
  shim_run("${CMAKE_COMMAND}" -S "${arg_SOURCE_PATH}" -B "${CURRENT_BUILDTREES_DIR}" -DCMAKE_BUILD_TYPE=Release
           "-DCMAKE_INSTALL_PREFIX=${CURRENT_PACKAGES_DIR}" ${arg_OPTIONS})
endfunction()

function(vcpkg_cmake_install)
  shim_run("${CMAKE_COMMAND}" --build "${CURRENT_BUILDTREES_DIR}" --target install)
endfunction()

# As vcpkg does: whatever the depth of a file, its way to the prefix becomes one of three steps, and the folder of the
# package the prefix.
function(vcpkg_cmake_config_fixup)
  set(share "${CURRENT_PACKAGES_DIR}/share/${PORT}")
  if(ARGN OR NOT EXISTS "${share}/${PORT}Config.cmake")
    message(FATAL_ERROR "vcpkg_cmake_config_fixup: expected the CMake package in share/${PORT} and no argument")
  endif()
  set(start "get_filename_component(_IMPORT_PREFIX \"\${CMAKE_CURRENT_LIST_FILE}\" PATH)\n")
  set(step "get_filename_component(_IMPORT_PREFIX \"\${_IMPORT_PREFIX}\" PATH)\n")
  file(GLOB_RECURSE files "${share}/*.cmake")
  foreach(file IN LISTS files)
    file(READ "${file}" text)
    string(REPLACE "${step}" "" text "${text}")
    string(REPLACE "${start}" "${start}${step}${step}" text "${text}")
    string(REPLACE "${CURRENT_PACKAGES_DIR}" "\${_IMPORT_PREFIX}" text "${text}")
    file(WRITE "${file}" "${text}")
  endforeach()
endfunction()

function(vcpkg_fixup_pkgconfig)
  file(GLOB found "${CURRENT_PACKAGES_DIR}/share/pkgconfig/*.pc" "${CURRENT_PACKAGES_DIR}/lib/pkgconfig/*.pc")
  if(NOT found)
    message(FATAL_ERROR "vcpkg_fixup_pkgconfig: no .pc file")
  endif()
endfunction()

function(vcpkg_install_copyright)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "" "FILE_LIST")
  file(INSTALL ${arg_FILE_LIST} DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}" RENAME copyright)
endfunction()

include("${PORT_DIR}/portfile.cmake")
