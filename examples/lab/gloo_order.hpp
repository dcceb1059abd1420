#ifndef RUBATO_EXAMPLES_LAB_GLOO_ORDER_HPP
#define RUBATO_EXAMPLES_LAB_GLOO_ORDER_HPP

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "workbench.hpp"

namespace rubato::lab {

inline constexpr std::uint64_t gloo_job = 1;
inline constexpr std::uint32_t gloo_shards = 4;

/// What the lab wants of all workers of a run: a file in the run's folder, beside the board and Gloo's store.
struct gloo_order {
  setting at;
  std::uint64_t seed = 0;
  std::filesystem::path data;     ///< the folder of the images
  std::uint64_t fingerprint = 0;  ///< of what is in it
  unsigned time_limit = 0;        ///< seconds, after which a worker is ended by force

  void write(const std::filesystem::path& folder) const;
  /// Errors  runtime_error, user_error: it is not what was written
  [[nodiscard]] static gloo_order read(const std::filesystem::path& folder);
};

/// Where the parts of a run lie in its folder.
[[nodiscard]] inline std::filesystem::path board_in(const std::filesystem::path& folder) { return folder / "board"; }
[[nodiscard]] inline std::string store_in(const std::filesystem::path& folder) {
  return "file:" + (folder / "store").string();
}

/// Who a worker is: the arguments of its process, behind gloo_worker_word.
struct gloo_worker_arguments {
  std::filesystem::path folder;
  std::uint32_t index = 0;
  std::uint32_t incarnation = 0;
  int parent = 0;  ///< process with which it ends

  [[nodiscard]] std::vector<std::string> words() const {
    return {folder.string(), std::to_string(index), std::to_string(incarnation), std::to_string(parent)};
  }
  /// Errors  user_error
  [[nodiscard]] static gloo_worker_arguments from(const std::vector<std::string>& words);
};

}  // namespace rubato::lab

#endif
