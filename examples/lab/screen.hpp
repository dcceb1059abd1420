#ifndef RUBATO_EXAMPLES_LAB_SCREEN_HPP
#define RUBATO_EXAMPLES_LAB_SCREEN_HPP

#include <string>
#include <string_view>
#include <vector>

namespace rubato::lab {

/// Text of keys and values for a terminal. Whoever wrote the values, it stays short: what is too long is cut, and says
/// so. Values are UTF-8 without control or hidden characters.
/// Tests   tests/examples/inspect_test.cpp: ALongFileIsOneScreen
class screen {
 public:
  static constexpr std::size_t columns = 100;
  static constexpr std::size_t indent = 13;    ///< where values begin
  static constexpr std::size_t most_text = 300;  ///< bytes of a value in a line of its own
  static constexpr std::size_t most_word = 60;   ///< bytes of a value among others
  static constexpr std::size_t most_lines = 12;  ///< of one list

  /// One value; "-" if it is empty.
  void line(std::string_view key, std::string_view value);
  /// Values separated by commas, in as many lines as they take.
  void list(std::string_view key, const std::vector<std::string>& values);
  /// A line for each row, its cells in columns.
  void rows(std::string_view key, const std::vector<std::vector<std::string>>& rows);

  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  void begin(std::string_view key);

  std::string text_;
};

}  // namespace rubato::lab

#endif
