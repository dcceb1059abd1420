#ifndef RUBATO_EXAMPLES_LAB_RESULT_CACHE_HPP
#define RUBATO_EXAMPLES_LAB_RESULT_CACHE_HPP

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "measurement.hpp"
#include "workbench.hpp"

namespace rubato::lab {

/// What measured results depend on besides setting, policy and seed: this very program, down to the byte, and the
/// arithmetic of its kernels. Where the system does not show a program its own file, the version of the
/// library stands for it.
[[nodiscard]] std::string code_version();

/// What a result is the result of: canonical JSON of the setting (name and description left out), data, policy, seed.
[[nodiscard]] std::string result_key(const setting&, std::uint64_t data_fingerprint, const any_policy&,
                                     std::uint64_t seed);

/// Where the results of a version of the code stand in such a directory.
[[nodiscard]] std::filesystem::path cache_file(const std::filesystem::path& directory, const std::string& version);

/// Results that outlive the program, so that an interrupted comparison resumes: one JSON Lines file for each version of
/// the code, `DIRECTORY/VERSION.jsonl`, to which every result is appended with its whole key, or not at all
/// (where files can be locked; elsewhere a full disk may leave a torn line).
///
/// A line that an interruption tore is passed over. Several programs may share a directory.
/// Errors  user_error where the file cannot be read or written
/// Thread  any thread may call any member at any time
/// Tests   tests/examples/result_cache_test.cpp
class result_cache {
 public:
  /// Remembers nothing.
  result_cache() = default;

  /// Creates the directory.
  result_cache(const std::filesystem::path& directory, const std::string& version);

  [[nodiscard]] std::optional<measurement> find(const std::string& key) const;
  void store(const std::string& key, const measurement&);

 private:
  std::filesystem::path file_;
  struct closer {
    void operator()(std::FILE* file) const noexcept { std::fclose(file); }
  };
  std::unique_ptr<std::FILE, closer> results_{};  // nothing is ever put into its buffer
  mutable std::mutex mutex_;
  std::map<std::string, measurement> known_;
};

}  // namespace rubato::lab

#endif
