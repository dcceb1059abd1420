#ifndef RUBATO_EXAMPLES_LAB_TRAINING_FILES_HPP
#define RUBATO_EXAMPLES_LAB_TRAINING_FILES_HPP

#include <filesystem>
#include <rubato/io/policy_card.hpp>
#include <string>
#include <vector>

#include "output_file.hpp"
#include "support/file_lock.hpp"

namespace rubato::lab {

/// The files of a training whose result is to be `result`. Start, checkpoint and lock go when it is there.
/// Tests   tests/examples/train_test.cpp: OneAtATime, CompleteIsComplete, RefusesToLoseATraining,
///         LeavesOtherFilesAlone; tests/examples/search_test.cpp: CompleteIsComplete, RefusesAnotherSearch
struct training_files {
  training_files(const std::filesystem::path& result_file, std::string curve_file = "");
  std::string start;     ///< RESULT.start: the policy that learning begins with; a policy file
  std::string training;  ///< RESULT.training: the checkpoint
  std::string lock;      ///< RESULT.lock: held by the training that writes them
  std::string result;
  std::string curve;  ///< all evaluations, as CSV; empty: none
  std::string tensorboard{};  ///< folder of curves, see training_curves; empty: none

  /// Sees whether result and curve can be written, and keeps others from it. Errors: user_error
  [[nodiscard]] support::file_lock lock_them() const;

  /// Whether the result is there, made by a training of this card; then the rest is removed. If not, what a killed
  /// program left half-written is removed. Errors: user_error for files of another training and, without `resume`, any
  [[nodiscard]] bool are_complete(const policy_card& expected, bool resume) const;

  /// Does nothing if there is to be no curve. Errors: user_error
  void write_curve(const std::string& csv) const;

  void remove_progress() const;
};

[[nodiscard]] bool exists(const std::string& file);

/// Whether a file's policy is of this kind, version, origin and command. Errors: user_error with the first difference
void check_card(const std::string& file, const policy_card& expected);

/// Those of a training, none in the place of another, nor of what it reads. Errors: user_error
[[nodiscard]] training_files files_of(const std::string& out, const std::string& curve,
                                      const std::vector<named_file>& inputs);

/// What `train` reads, besides experts. `initial` may be empty, `scenario` and `data` are what the options say.
[[nodiscard]] std::vector<named_file> training_inputs(const std::string& initial, const std::string& scenario,
                                                      const std::string& data);

}  // namespace rubato::lab

#endif
