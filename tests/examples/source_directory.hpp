#ifndef RUBATO_TESTS_EXAMPLES_SOURCE_DIRECTORY_HPP
#define RUBATO_TESTS_EXAMPLES_SOURCE_DIRECTORY_HPP

#include <filesystem>

namespace rubato::test {

/// Root of the sources: RUBATO_SOURCE_DIR where the build sets it, else found from this file's own name.
#ifdef RUBATO_SOURCE_DIR
inline const std::filesystem::path source_directory = RUBATO_SOURCE_DIR;
#else
inline const std::filesystem::path source_directory =
    std::filesystem::absolute(__FILE__).parent_path().parent_path().parent_path();
#endif

}  // namespace rubato::test

#endif
