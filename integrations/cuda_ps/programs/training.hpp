#ifndef RUBATO_CUDA_PS_PROGRAMS_TRAINING_HPP
#define RUBATO_CUDA_PS_PROGRAMS_TRAINING_HPP

#include <cstdint>
#include <string>
#include <vector>

#include "support/image_files.hpp"

/// What cuda_train does; the command line has the same names.
struct training_options {
  std::string policy = "ssp:3";
  bool on_device = false;  ///< decisions
  std::vector<int> devices;
  std::uint32_t workers = 4, shards = 1, samples = 64, hidden = 128;
  std::string optimizer = "sgd";
  double rate = 0.05, momentum = 0.9;
  double seconds = 30, target = 0.97, look = 0.1;
  double straggle = 0, straggle_for = 10;  ///< share of the steps, milliseconds
  std::uint64_t seed = 1;
  std::string log, apply_log;
};

inline constexpr const char* training_policies = "asp, bsp, bsp:sum, knee, learned, ksync:K, ssp:S or ssp:S:rlp";
/// Whether there is such a policy.
[[nodiscard]] bool is_training_policy(const std::string& name);

/// Trains and prints what came of it. Returns the exit status: 0, 1 after an error, 77 without a device.
[[nodiscard]] int train_on_images(const training_options& o, const rubato::support::image_set& images);

#endif
