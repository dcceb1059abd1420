#ifndef RUBATO_EXAMPLES_SUPPORT_USER_ERROR_HPP
#define RUBATO_EXAMPLES_SUPPORT_USER_ERROR_HPP

#include <cstddef>
#include <rubato/io/utf8.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace rubato::support {

/// Exit status of a program that was given something malformed.
inline constexpr int user_error_status = 2;

/// What the user gave (an option, a key, a file) is wrong. what() is one line that says which value, where, and what
/// was expected; `main` prints it and ends with `user_error_status`.
///
/// Bytes of quoted input that are no plain characters become '?', so that the message stays one line and cannot steer a
/// terminal.
/// Tests   tests/examples/user_error_test.cpp
class user_error : public std::runtime_error {
 public:
  explicit user_error(std::string_view message) : std::runtime_error{one_line(message)} {}

 private:
  [[nodiscard]] static std::string one_line(std::string_view message) {
    std::string line;
    while (!message.empty()) {
      const std::size_t length = plain_length(message);
      line += length == 0 ? std::string_view{"?"} : message.substr(0, length);
      message.remove_prefix(length == 0 ? 1 : length);
    }
    return line;
  }
};

/// The value of a rubato::result; its error becomes a user_error.
template <class Result>
auto value_or_refuse(Result&& result) {
  if (!result) throw user_error{result.error().message};
  return *std::forward<Result>(result);
}

}  // namespace rubato::support

#endif
