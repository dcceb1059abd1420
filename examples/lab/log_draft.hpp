#ifndef RUBATO_EXAMPLES_LAB_LOG_DRAFT_HPP
#define RUBATO_EXAMPLES_LAB_LOG_DRAFT_HPP

#include <filesystem>

namespace rubato::lab {

/// FILE.*.tmp beside the file, the one that was written to last: what rubato::atomic_file writes to until it is
/// committed, and leaves where its process is killed. Empty if there is none.
[[nodiscard]] std::filesystem::path draft_of(const std::filesystem::path& file);

/// user_error if there is no such file; it names the draft if there is one.
void expect_log(const std::filesystem::path& file, const char* expected = "a decision log");

}  // namespace rubato::lab

#endif
