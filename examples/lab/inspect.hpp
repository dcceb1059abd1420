#ifndef RUBATO_EXAMPLES_LAB_INSPECT_HPP
#define RUBATO_EXAMPLES_LAB_INSPECT_HPP

#include <nlohmann/json.hpp>
#include <string>

#include "policy_file.hpp"

namespace rubato::lab {

/// What a policy file is, about one screen of it; also of a file that this build cannot run, with the reason.
/// Tests   tests/examples/inspect_test.cpp: SaysWhatAFileIs, HistoriesAreOneWord, ALongFileIsOneScreen,
///         ARuleHasNoTensors, SaysWhyItCannotBeRun
[[nodiscard]] std::string inspection(const policy_file&);

/// The same, nothing left out.
/// Tests   tests/examples/inspect_test.cpp: JsonHasEverything, TheFingerprintIsThatOfThePolicy
[[nodiscard]] nlohmann::json inspection_json(const policy_file&);

}  // namespace rubato::lab

#endif
