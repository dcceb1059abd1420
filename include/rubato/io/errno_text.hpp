#ifndef RUBATO_IO_ERRNO_TEXT_HPP
#define RUBATO_IO_ERRNO_TEXT_HPP

#include <string>
#include <system_error>

#include "../config.hpp"

namespace rubato::inline RUBATO_ABI {

/// What an errno means, in words.
[[nodiscard]] inline std::string errno_text(int code) { return std::generic_category().message(code); }

}  // namespace rubato::inline RUBATO_ABI

#endif
