#ifndef RUBATO_EXAMPLES_SUPPORT_TEXT_LINES_HPP
#define RUBATO_EXAMPLES_SUPPORT_TEXT_LINES_HPP

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

struct gzFile_s;

namespace rubato::support {

/// A text file, plain or gzip, read line by line: of any size, with memory for one line.
///
/// Errors  user_error: FILE cannot be opened or read, gzip data is corrupt, a line is longer than `longest`
/// Tests   tests/examples/text_lines_test.cpp: PlainAndGzip, LastLineWithoutAnEnd, AGzipFileThatEndsEarly,
///         RefusesALineThatIsTooLong, LinesAreSkipped, RefusesAFileThatIsNotThere
class text_lines {
 public:
  text_lines(const std::filesystem::path& file, std::size_t longest);

  /// The next line, without its end. False at the end of the file.
  [[nodiscard]] bool next(std::string& line);
  /// Passes over it, however long it is; after a line that was refused for its length, the one behind that.
  [[nodiscard]] bool skip();

  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }  ///< of the line read last, from 1
  [[nodiscard]] bool ended() const noexcept { return ended_; }             ///< whether that line had an end
  [[nodiscard]] bool cut_off() const noexcept { return cut_off_; }         ///< whether a gzip file ends early
  [[nodiscard]] std::string place() const;                                 ///< FILE:LINE

 private:
  [[nodiscard]] bool fill();
  [[nodiscard]] bool read(std::string* line);
  void to_the_end(std::string* line);

  struct closer {
    void operator()(gzFile_s* file) const noexcept;
  };
  std::string name_;
  std::size_t longest_;
  std::unique_ptr<gzFile_s, closer> handle_;
  std::vector<char> buffer_;
  std::size_t at_ = 0, filled_ = 0;
  std::uint64_t number_ = 0;
  bool within_ = false;  // a line whose end has not been read
  bool ended_ = false;
  bool cut_off_ = false;
};

}  // namespace rubato::support

#endif
