#ifndef RUBATO_LIBTORCH_SENTENCE_HPP
#define RUBATO_LIBTORCH_SENTENCE_HPP

#include <exception>
#include <rubato/config.hpp>
#include <string>

namespace rubato::inline RUBATO_ABI::libtorch {

/// What torch says was wrong, without the places in its code, which come after the first line that says something.
[[nodiscard]] inline std::string sentence_of(const std::exception& e) {
  std::string all = e.what();
  all.erase(0, all.find_first_not_of(" \n"));
  all = all.substr(0, all.find('\n'));
  return all.empty() ? "an exception without a message" : all;
}

}  // namespace rubato::inline RUBATO_ABI::libtorch

#endif
