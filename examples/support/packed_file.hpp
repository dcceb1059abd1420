#ifndef RUBATO_EXAMPLES_SUPPORT_PACKED_FILE_HPP
#define RUBATO_EXAMPLES_SUPPORT_PACKED_FILE_HPP

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "regular_file.hpp"

struct z_stream_s;

namespace rubato::support {

/// What a regular file holds, plain or gzip, read from front to back. A gzip file is what begins like one; it may have
/// several members, one behind the other, and nothing else.
///
/// zlib's own gzread passes over what follows the last member, and does not say so.
/// Errors  user_error: FILE is no regular one, cannot be opened or read. Of bad gzip data see problem().
/// Tests   tests/examples/packed_file_test.cpp
class packed_file {
 public:
  explicit packed_file(const std::filesystem::path& file);

  [[nodiscard]] const std::string& name() const noexcept { return file_.name(); }

  /// Fills `to` as far as the file goes, or is sound, and returns the number of bytes.
  [[nodiscard]] std::size_t read(std::span<char> to);

  /// Why the last read ended before the file did, as "found ..., expected ...": the gzip data are corrupt, end early,
  /// or are followed by something else. Empty if nothing is wrong so far.
  [[nodiscard]] const std::string& problem() const noexcept { return problem_; }
  [[nodiscard]] bool cut_off() const noexcept { return cut_off_; }  ///< whether the problem is that it ends early

 private:
  [[nodiscard]] std::size_t copy(std::span<char> to);
  [[nodiscard]] std::size_t unpack(std::span<char> to);
  void refill();
  void end_early();
  void note(int code);

  struct closer {
    void operator()(z_stream_s* stream) const noexcept;
  };
  regular_file file_;
  std::vector<char> buffer_;
  std::size_t at_ = 0, filled_ = 0;                // of the buffer
  std::unique_ptr<z_stream_s, closer> unpacking_;  // none: the file is plain
  bool first_ = true;                              // nothing of a second member has been looked at
  bool between_ = false;                           // members: the next byte, if any, begins one
  bool cut_off_ = false;
  std::string problem_;
};

}  // namespace rubato::support

#endif
