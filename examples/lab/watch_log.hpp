#ifndef RUBATO_EXAMPLES_LAB_WATCH_LOG_HPP
#define RUBATO_EXAMPLES_LAB_WATCH_LOG_HPP

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "log_lines.hpp"
#include "log_stats.hpp"
#include "support/regular_file.hpp"
#include "watch.hpp"

namespace rubato::lab {

/// A decision log that may still grow: takes in what has come since it last looked.
///
/// Where `file` is not there yet, or older than its newest draft, that is read, as atomic_file writes it: FILE.*.tmp. Of
/// a draft, what the writer still has in its buffer of 64 KiB is not seen. A last line without an end waits for it.
/// Errors  user_error with FILE, or FILE:LINE: there is none, it cannot be read, or is no decision log (gzip neither)
/// Tests   tests/examples/watch_test.cpp: GrowingLogIsFollowed, DraftOfALogIsFound, ANewerDraftIsTheRunThatGoesOn,
///         LogAndPageAgree, WhatIsDoneToAWorkerDoesNotRenewItsStep
class log_watcher {
 public:
  explicit log_watcher(const std::filesystem::path& file);
  void look();                                   ///< at what is new
  [[nodiscard]] watched_job job() const;         ///< as far as it has looked
  [[nodiscard]] bool complete() const noexcept;  ///< a draft that has got its name, or was given up: no more will come

 private:
  std::filesystem::path file_;
  bool draft_ = false;
  std::optional<support::regular_file> bytes_{};
  std::string partial_;
  std::uint64_t line_ = 0;
  std::string policy_;
  log_stats stats_{};
};

}  // namespace rubato::lab

#endif
