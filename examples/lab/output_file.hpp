#ifndef RUBATO_EXAMPLES_LAB_OUTPUT_FILE_HPP
#define RUBATO_EXAMPLES_LAB_OUTPUT_FILE_HPP

#include <filesystem>
#include <optional>
#include <rubato/io/atomic_file.hpp>
#include <string>
#include <system_error>
#include <utility>

#include "support/user_error.hpp"

namespace rubato::lab {

/// A result file; opened before anything is computed, so that nobody waits an hour to learn that it cannot be written.
/// Where no file is asked for, nothing is written. Throws user_error, which names the option.
class output_file {
 public:
  output_file(const std::string& file, std::string option) : name_{file}, option_{std::move(option)} {
    if (file.empty()) return;
    if (file == "-") throw support::user_error{option_ + ": found \"-\", expected the name of a file"};
    auto opened = atomic_file::create(file);
    if (!opened) throw support::user_error{option_ + ": " + opened.error().message};
    file_ = std::move(*opened);
  }

  [[nodiscard]] atomic_file* get() { return file_ ? &*file_ : nullptr; }

  void commit() {
    if (file_) check(file_->commit());
  }

  void write(const std::string& text) {
    if (!file_) return;
    (*file_)(text);
    commit();
    std::error_code ignored;
    std::filesystem::remove(partial(), ignored);  // of an earlier call, which was interrupted
  }

  /// In place of write() after an interruption: FILE keeps what it had, FILE.partial gets the text. Its name, or
  /// nothing where no file was asked for.
  [[nodiscard]] std::string write_partial(const std::string& text) {
    if (!file_) return {};
    file_.reset();
    check(rubato::write_file(partial(), text));
    return partial();
  }

 private:
  [[nodiscard]] std::string partial() const { return name_ + ".partial"; }

  template <class Result>
  void check(const Result& done) const {
    if (!done) throw support::user_error{option_ + ": " + done.error().message};
  }

  std::string name_;
  std::string option_;
  std::optional<atomic_file> file_;
};

}  // namespace rubato::lab

#endif
