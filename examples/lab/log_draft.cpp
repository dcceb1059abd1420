#include "log_draft.hpp"

#include <string>
#include <system_error>

#include "support/user_error.hpp"

namespace rubato::lab {
namespace {

namespace fs = std::filesystem;

}  // namespace

fs::path draft_of(const fs::path& file) {
  fs::path newest;
  fs::file_time_type when{};
  std::error_code none;
  const std::string front = file.filename().string() + '.';
  const fs::path folder = file.has_parent_path() ? file.parent_path() : fs::path{"."};
  for (const auto& entry : fs::directory_iterator{folder, none}) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(front) || !name.ends_with(".tmp")) continue;
    const auto time = entry.last_write_time(none);
    if (newest.empty() || time > when) newest = entry.path(), when = time;
  }
  return newest;
}

void expect_log(const fs::path& file, const char* expected) {
  std::error_code none;
  if (fs::exists(file, none)) return;
  const fs::path draft = draft_of(file);
  throw support::user_error{file.string() + ": found no such file" +
                            (draft.empty() ? "" : ", but " + draft.string() +
                                                      ", which its writer has not finished, or never will") +
                            ", expected " + expected};
}

}  // namespace rubato::lab
