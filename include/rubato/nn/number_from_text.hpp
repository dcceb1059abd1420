#ifndef RUBATO_NN_NUMBER_FROM_TEXT_HPP
#define RUBATO_NN_NUMBER_FROM_TEXT_HPP

#include <charconv>
#include <concepts>
#include <system_error>

#include "../config.hpp"

// libc++ reads floating-point numbers from version 20 on.
#if defined(_LIBCPP_VERSION) && _LIBCPP_VERSION < 200000
#define RUBATO_DETAIL_READS_BY_STREAM 1
#include <locale>
#include <sstream>
#include <string>
#else
#define RUBATO_DETAIL_READS_BY_STREAM 0
#endif

namespace rubato::inline RUBATO_ABI::nn::detail {

/// std::from_chars, where the standard library has it; else by a stream, whatever the locale, and then a text that
/// begins as a number and goes on otherwise is refused as a whole.
///
/// Tests   tests/nn/activation_test.cpp: AsText; tests/io/json_reader_test.cpp: Numbers
template <std::floating_point T>
[[nodiscard]] std::from_chars_result number_from_text(const char* first, const char* last, T& number) {
#if RUBATO_DETAIL_READS_BY_STREAM
  std::istringstream text{std::string{first, last}};
  text.imbue(std::locale::classic());
  T read{};
  if (first == last || !(text >> std::noskipws >> read) || *first == '+') return {first, std::errc::invalid_argument};
  if (text.peek() != std::istringstream::traits_type::eof()) return {first, std::errc::invalid_argument};
  number = read;
  return {last, std::errc{}};
#else
  return std::from_chars(first, last, number);
#endif
}

}  // namespace rubato::inline RUBATO_ABI::nn::detail

#endif
