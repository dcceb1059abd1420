#ifndef RUBATO_EXAMPLES_LAB_GROWTH_WEIGHTS_HPP
#define RUBATO_EXAMPLES_LAB_GROWTH_WEIGHTS_HPP

#include <filesystem>
#include <rubato/adapt/growth/block_agent.hpp>
#include <rubato/adapt/growth/growth_agent.hpp>
#include <rubato/adapt/growth/layer_vocabulary.hpp>
#include <rubato/core/rng.hpp>
#include <string>
#include <variant>
#include <vector>

#include "growth_tasks.hpp"

namespace rubato::lab {

/// An agent for models of so many actions, or one for models of any.
using any_growth_agent = std::variant<adapt::growth_agent, adapt::block_agent>;

/// The layers that published agents know, and the vector for each row.
struct growth_vocabulary {
  adapt::layer_vocabulary words;
  std::vector<float> embeddings;  ///< [rows x width]
  std::size_t width = 0;
};

/// From a JSON file: {"ids": {LAYER: ROW, ...}, "embedding": [[...], ...]}, and "unknown": ROW if layers that it does
/// not name have one.
/// Errors  user_error, naming the file: it cannot be read, has more than 64 MiB, is nested deeper than 64 levels, is no
///         JSON, or has other members, rows of unequal widths, numbers that are not finite, or rows that are not there
/// Tests   tests/examples/growth_eval_test.cpp: ReadsWeights, SaysWhatIsWrong, AFileThatIsNestedTooDeepIsRefused,
///         AFileThatIsTooLargeIsRefused, ALongValueIsNotRepeatedWhole
[[nodiscard]] growth_vocabulary read_growth_vocabulary(const std::filesystem::path& path);

/// A vocabulary of all layers that these tasks come to, a row each and one more for all others, with random vectors.
/// Tests   tests/examples/growth_training_test.cpp: VocabularyHasAllLayers
[[nodiscard]] growth_vocabulary vocabulary_of(const std::vector<growth_task>& tasks, std::size_t width,
                                              random_sequence& random);

/// The agent whose weights are in a JSON file as PyTorch names them: "encoder.encoder.weight_ih_l0" and seven more of
/// the bidirectional LSTM, "decider.lstm.weight_ih_l0" and three more, "decider.linear1.weight" to
/// "decider.linear3.bias". The sizes are those of the arrays. Published agents need the file of their vocabulary, the
/// one that is given or else `usual`, where that is not empty; those of as_json() have theirs with them, and say how
/// they encode the time and of which kind they are. The file has at most 64 MiB.
/// Errors  user_error, naming the file and the array: it cannot be read, is too large, nested too deep or no JSON, has
///         no vocabulary and there is no other, or has one and another is given, an array is missing, unknown, of
///         another shape than the others say, or has a number that is not finite; those of read_growth_vocabulary
/// Tests   tests/examples/growth_eval_test.cpp: ReadsWeights, SaysWhatIsWrong, AFileThatIsNestedTooDeepIsRefused,
///         AFileThatIsTooLargeIsRefused, ALongValueIsNotRepeatedWhole, ARowThatStandsForNoMatrixIsRefused;
///         tests/examples/growth_training_test.cpp: WhatIsWrittenIsReadAgain, SaysWhatIsWrongWithItsVocabulary,
///         SaysWhatIsWrongWithItsKind
[[nodiscard]] any_growth_agent read_growth_weights(const std::filesystem::path& path,
                                                   const std::filesystem::path& vocabulary,
                                                   const std::filesystem::path& usual = {});

/// The agent as such a document. "vocabulary" is an object as in a vocabulary's file, "time" says how the time is
/// encoded: "sines", as published, where it is missing. "network" is "actions" or, for an agent of
/// models of any number of them, "blocks". It has one bias where PyTorch has two: the other is zeros.
/// Tests   tests/examples/growth_training_test.cpp: WhatIsWrittenIsReadAgain
[[nodiscard]] std::string as_json(const any_growth_agent& agent);

}  // namespace rubato::lab

#endif
