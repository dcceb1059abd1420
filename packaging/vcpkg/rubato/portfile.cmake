set(VCPKG_BUILD_TYPE release) # header-only port

# An overlay port: it installs the source tree it lies in.
cmake_path(SET SOURCE_PATH NORMALIZE "${CMAKE_CURRENT_LIST_DIR}/../../..")
if(NOT EXISTS "${SOURCE_PATH}/include/rubato/version.hpp")
    message(FATAL_ERROR "This port installs the tree that it is part of, and there is none in ${SOURCE_PATH}: \
name packaging/vcpkg of a clone of rubato in --overlay-ports, not a copy of it.")
endif()

vcpkg_cmake_configure(SOURCE_PATH "${SOURCE_PATH}" OPTIONS -DRUBATO_CMAKE_DIR=share/rubato)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup()
vcpkg_fixup_pkgconfig()

file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/share/doc") # the licence goes to share/rubato/copyright

file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
