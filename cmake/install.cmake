# Installs headers, licence, CMake package and pkg-config file. Nothing depends on the architecture, nothing holds an
# absolute path: the tree can be moved.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(RUBATO_CMAKE_DIR "${CMAKE_INSTALL_DATADIR}/cmake/rubato" CACHE STRING "Where the CMake package is installed")

install(TARGETS rubato EXPORT rubatoTargets FILE_SET HEADERS)
install(EXPORT rubatoTargets NAMESPACE rubato:: DESTINATION "${RUBATO_CMAKE_DIR}")
install(TARGETS rubato_cuda EXPORT rubatoCudaTargets FILE_SET HEADERS)
install(EXPORT rubatoCudaTargets NAMESPACE rubato:: DESTINATION "${RUBATO_CMAKE_DIR}")

configure_package_config_file("${CMAKE_CURRENT_LIST_DIR}/rubatoConfig.cmake.in" "${PROJECT_BINARY_DIR}/rubatoConfig.cmake"
                              INSTALL_DESTINATION "${RUBATO_CMAKE_DIR}"
                              NO_SET_AND_CHECK_MACRO)
# 0.x may break with every minor version; from 1.0 on: SameMajorVersion.
write_basic_package_version_file("${PROJECT_BINARY_DIR}/rubatoConfigVersion.cmake"
                                 COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES "${PROJECT_BINARY_DIR}/rubatoConfig.cmake" "${PROJECT_BINARY_DIR}/rubatoConfigVersion.cmake"
        DESTINATION "${RUBATO_CMAKE_DIR}")

configure_file("${CMAKE_CURRENT_LIST_DIR}/rubato.pc.in" "${PROJECT_BINARY_DIR}/rubato.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/rubato.pc" DESTINATION "${CMAKE_INSTALL_DATADIR}/pkgconfig")
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DOCDIR}")
