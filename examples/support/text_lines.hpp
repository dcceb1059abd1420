#ifndef RUBATO_EXAMPLES_SUPPORT_TEXT_LINES_HPP
#define RUBATO_EXAMPLES_SUPPORT_TEXT_LINES_HPP

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "packed_file.hpp"
#include "user_error.hpp"

namespace rubato::support {

/// A gzip file of which the end is missing, as after a crash.
class ends_early : public user_error {
 public:
  using user_error::user_error;
};

/// A text file, plain or gzip, read line by line: of any size, with memory for one line.
///
/// Errors  user_error: FILE is no regular one, cannot be opened or read; a line is longer than `longest`. After
///         the last line that is sound: gzip data are corrupt, followed by something else, or end early (ends_early)
/// Tests   tests/examples/text_lines_test.cpp: PlainAndGzip, LastLineWithoutAnEnd, AGzipFileThatEndsEarly,
///         WhatFollowsGzipDataIsRefused, RefusesALineThatIsTooLong, LinesAreSkipped, RefusesAFileThatIsNotThere
class text_lines {
 public:
  text_lines(const std::filesystem::path& file, std::size_t longest);

  /// The next line, without its end. False at the end of the file.
  [[nodiscard]] bool next(std::string& line);
  /// Passes over it, however long it is; after a line that was refused for its length, the one behind that.
  [[nodiscard]] bool skip();

  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }  ///< of the line read last, from 1
  [[nodiscard]] bool ended() const noexcept { return ended_; }             ///< whether that line had an end
  [[nodiscard]] std::string place() const;                                 ///< FILE:LINE; before the first, FILE

 private:
  [[nodiscard]] bool fill();
  [[nodiscard]] bool read(std::string* line);
  void to_the_end(std::string* line);

  packed_file file_;
  std::size_t longest_;
  std::vector<char> buffer_;
  std::size_t at_ = 0, filled_ = 0;
  std::uint64_t number_ = 0;
  bool within_ = false;  // a line whose end has not been read
  bool ended_ = false;
};

}  // namespace rubato::support

#endif
