#ifndef RUBATO_EXAMPLES_LAB_SHIPPED_HPP
#define RUBATO_EXAMPLES_LAB_SHIPPED_HPP

#include <filesystem>

namespace rubato::lab {

/// `below` in the source tree that this program was built from; if that has gone, in the one that it lies in
/// (TREE/build/PRESET/bin). Whoever reads there reports what is missing.
[[nodiscard]] std::filesystem::path shipped(const std::filesystem::path& below);

}  // namespace rubato::lab

#endif
