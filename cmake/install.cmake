# Installs headers, licence, CMake package and pkg-config file. Nothing depends on the architecture, nothing holds an
# absolute path: the tree can be moved.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)  # nothing that is installed has to be built

set(RUBATO_CMAKE_DIR "${CMAKE_INSTALL_DATADIR}/cmake/rubato" CACHE STRING "Where the CMake package is installed")

# A file set cannot be exported that is installed to an absolute path (CMake 3.25).
set(include_dir "${CMAKE_INSTALL_INCLUDEDIR}")
if(IS_ABSOLUTE "${include_dir}")
  file(RELATIVE_PATH include_dir "${CMAKE_INSTALL_PREFIX}" "${include_dir}")
endif()
install(TARGETS rubato EXPORT rubatoTargets
        FILE_SET HEADERS DESTINATION "${include_dir}" COMPONENT rubato_Development)
install(EXPORT rubatoTargets NAMESPACE rubato:: DESTINATION "${RUBATO_CMAKE_DIR}" COMPONENT rubato_Development)

# Each part has a targets file of its own, beside the config: vcpkg rewrites the way from a targets file to the prefix, and
# takes all of them to lie in one folder.
foreach(part IN LISTS _rubato_components ITEMS gloo_ps_seam)
  if(NOT TARGET rubato_${part})
    rubato_part(${part})
    set_target_properties(rubato_${part} PROPERTIES VERIFY_INTERFACE_HEADER_SETS OFF)
  endif()
  set_target_properties(rubato_${part} PROPERTIES EXPORT_NAME ${part})
  install(TARGETS rubato_${part} EXPORT rubato_${part}
          FILE_SET HEADERS DESTINATION "${include_dir}" COMPONENT rubato_Development)
  install(EXPORT rubato_${part} NAMESPACE rubato:: DESTINATION "${RUBATO_CMAKE_DIR}" FILE rubato-${part}.cmake
          COMPONENT rubato_Development)
endforeach()

# 0.x may break with every minor version; from 1.0 on: SameMajorVersion.
write_basic_package_version_file("${PROJECT_BINARY_DIR}/rubatoConfigVersion.cmake"
                                 COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES "${CMAKE_CURRENT_LIST_DIR}/rubatoConfig.cmake" "${PROJECT_BINARY_DIR}/rubatoConfigVersion.cmake"
        DESTINATION "${RUBATO_CMAKE_DIR}" COMPONENT rubato_Development)
install(FILES "${CMAKE_CURRENT_LIST_DIR}/components.cmake" DESTINATION "${RUBATO_CMAKE_DIR}"
        RENAME rubatoComponents.cmake COMPONENT rubato_Development)

file(RELATIVE_PATH pc_to_prefix "${CMAKE_INSTALL_FULL_DATADIR}/pkgconfig" "${CMAKE_INSTALL_PREFIX}")
string(REGEX REPLACE "/$" "" pc_to_prefix "${pc_to_prefix}")
configure_file("${CMAKE_CURRENT_LIST_DIR}/rubato.pc.in" "${PROJECT_BINARY_DIR}/rubato.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/rubato.pc" DESTINATION "${CMAKE_INSTALL_DATADIR}/pkgconfig" COMPONENT rubato_Development)
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DATAROOTDIR}/doc/rubato"
        COMPONENT rubato_Development)
