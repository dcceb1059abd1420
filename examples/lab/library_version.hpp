#ifndef RUBATO_EXAMPLES_LAB_LIBRARY_VERSION_HPP
#define RUBATO_EXAMPLES_LAB_LIBRARY_VERSION_HPP

#include <rubato/version.hpp>
#include <string>

namespace rubato::lab {

/// "0.1.0".
[[nodiscard]] inline std::string library_version() {
  return std::to_string(RUBATO_VERSION_MAJOR) + "." + std::to_string(RUBATO_VERSION_MINOR) + "." +
         std::to_string(RUBATO_VERSION_PATCH);
}

}  // namespace rubato::lab

#endif
