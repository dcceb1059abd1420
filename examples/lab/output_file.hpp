#ifndef RUBATO_EXAMPLES_LAB_OUTPUT_FILE_HPP
#define RUBATO_EXAMPLES_LAB_OUTPUT_FILE_HPP

#include <optional>
#include <rubato/io/atomic_file.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace rubato::lab {

/// A result file; opened before anything is computed, so that nobody waits an hour to learn that it cannot be written.
/// Where no file is asked for, nothing is written. Errors: user_error, which names the option.
class output_file {
 public:
  output_file(const std::string& file, std::string option);

  [[nodiscard]] atomic_file* get() { return file_ ? &*file_ : nullptr; }

  void commit();
  void write(const std::string& text);

  /// In place of write() after an interruption: FILE keeps what it had, FILE.partial gets the text. Its name, or
  /// nothing where no file was asked for.
  [[nodiscard]] std::string write_partial(const std::string& text);
  /// What an interrupted call has left.
  void remove_partial() const;

 private:
  [[nodiscard]] std::string partial() const { return name_ + ".partial"; }

  std::string name_;
  std::string option_;
  std::optional<atomic_file> file_;
};

/// A ByteSink over a file that somebody else commits.
struct file_reference {
  atomic_file* to;
  void operator()(std::string_view bytes) noexcept { (*to)(bytes); }
};

/// A file, empty for none, and the option that names it.
struct named_file {
  std::string option;
  std::string name;
};

/// Refuses to write a file in the place of another one that the same command reads or writes.
/// Errors  user_error, which names the options of both
/// Tests   tests/examples/lab_program_test.cpp: NothingIsWrittenOverWhatItNeeds, BadInputIsOneLineAndStatus2
void check_outputs(const std::vector<named_file>& inputs, const std::vector<named_file>& outputs);

}  // namespace rubato::lab

#endif
