#ifndef RUBATO_LIBTORCH_SENTENCE_HPP
#define RUBATO_LIBTORCH_SENTENCE_HPP

#include <exception>
#include <rubato/config.hpp>
#include <string>

namespace rubato::inline RUBATO_ABI::libtorch {

/// What torch says was wrong, without the places in its code, which come from the second line on.
[[nodiscard]] inline std::string sentence_of(const std::exception& e) {
  const std::string all = e.what();
  return all.substr(0, all.find('\n'));
}

}  // namespace rubato::inline RUBATO_ABI::libtorch

#endif
