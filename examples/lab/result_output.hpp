#ifndef RUBATO_EXAMPLES_LAB_RESULT_OUTPUT_HPP
#define RUBATO_EXAMPLES_LAB_RESULT_OUTPUT_HPP

#include <string>
#include <vector>

#include "output_file.hpp"

namespace rubato::lab {

/// Where a command puts what it found: its JSON into the file of --json, or with - on standard output in place of the
/// text; its text on standard output.
///
/// Errors  user_error about --json
/// Tests   tests/examples/experiment_command_test.cpp: PrintsATableForEachPart, InterruptedExperimentGoesOn,
///         AnInterruptedDocumentIsNotPrinted, BadInputIsOneLineAndStatus2;
///         tests/examples/search_switch_test.cpp: OnLogs, InSimulations, InterruptedSearchGoesOn
class result_output {
 public:
  /// With what --json names, if anything. Opens the file; refuses one that the command reads.
  result_output(const std::string& name, const std::vector<named_file>& inputs);

  /// Everything. Returns the exit status.
  [[nodiscard]] int put(const std::string& document, const std::string& text);

  /// What there is after an interruption: the document as FILE.partial, the text, and how to go on, which the same
  /// command does where results were `kept`. Returns the exit status.
  [[nodiscard]] int put_partial(const std::string& document, const std::string& text, bool kept);

 private:
  bool to_screen_;
  output_file file_;
};

}  // namespace rubato::lab

#endif
