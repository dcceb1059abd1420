# Installs headers, licence, CMake package and pkg-config file. Nothing depends on the architecture, nothing holds an
# absolute path: the tree can be moved.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)  # nothing that is installed has to be built

set(RUBATO_CMAKE_DIR "${CMAKE_INSTALL_DATADIR}/cmake/rubato" CACHE STRING "Where the CMake package is installed")

install(TARGETS rubato EXPORT rubatoTargets FILE_SET HEADERS)
install(EXPORT rubatoTargets NAMESPACE rubato:: DESTINATION "${RUBATO_CMAKE_DIR}")

# rubato_install_part(NAME TARGET): the target's headers, and its targets file.
function(rubato_install_part part target)
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${part})
  install(TARGETS ${target} EXPORT rubato_${part} FILE_SET HEADERS)
  install(EXPORT rubato_${part} NAMESPACE rubato:: DESTINATION "${RUBATO_CMAKE_DIR}/components" FILE ${part}.cmake)
endfunction()

# rubato_install_host(NAME FOLDER LINK...): the headers of a host in integrations/, whether its engine is here or not: who
# uses the component has it. So these targets are not those of the source tree, but are called like them.
function(rubato_install_host part folder)
  set(include "${PROJECT_SOURCE_DIR}/integrations/${folder}/include")
  file(GLOB headers CONFIGURE_DEPENDS "${include}/rubato/${folder}/*.hpp" "${include}/rubato/${folder}/*.cuh")
  set(target rubato_installed_${part})
  add_library(${target} INTERFACE)
  target_sources(${target} INTERFACE FILE_SET HEADERS BASE_DIRS "${include}" FILES ${headers})
  target_link_libraries(${target} INTERFACE ${ARGN})
  set_target_properties(${target} PROPERTIES VERIFY_INTERFACE_HEADER_SETS OFF)
  rubato_install_part(${part} ${target})
endfunction()

rubato_install_part(cuda rubato_cuda)
rubato_install_host(threads_ps threads_ps rubato Threads::Threads)
rubato_install_host(gloo_ps_seam gloo_ps rubato_installed_threads_ps)
add_library(rubato_installed_gloo INTERFACE)  # its headers are those of the seam
target_link_libraries(rubato_installed_gloo INTERFACE rubato_installed_gloo_ps_seam gloo)
rubato_install_part(gloo rubato_installed_gloo)
rubato_install_host(mpi mpi_ps rubato_installed_gloo_ps_seam MPI::MPI_CXX)
rubato_install_host(torch libtorch rubato_installed_threads_ps torch)
target_compile_options(rubato_installed_torch INTERFACE
                       "$<$<CXX_COMPILER_ID:Clang>:SHELL:-include ATen/core/ivalue.h>")  # why: integrations/libtorch
rubato_install_host(cuda_ps cuda_ps rubato_cuda Threads::Threads)
rubato_install_host(ps_lite ps_lite rubato)

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
