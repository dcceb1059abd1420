#ifndef RUBATO_VERSION_HPP
#define RUBATO_VERSION_HPP

// The only place where the version is written; CMake, the Conan recipe and the vcpkg port read it from here.
#define RUBATO_VERSION_MAJOR 0
#define RUBATO_VERSION_MINOR 1
#define RUBATO_VERSION_PATCH 0

#endif
