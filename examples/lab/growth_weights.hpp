#ifndef RUBATO_EXAMPLES_LAB_GROWTH_WEIGHTS_HPP
#define RUBATO_EXAMPLES_LAB_GROWTH_WEIGHTS_HPP

#include <filesystem>
#include <rubato/adapt/growth/growth_agent.hpp>
#include <rubato/adapt/growth/layer_vocabulary.hpp>
#include <vector>

namespace rubato::lab {

/// The layers that published agents know, and the vector for each row.
struct growth_vocabulary {
  adapt::layer_vocabulary words;
  std::vector<float> embeddings;  ///< [rows x width]
  std::size_t width = 0;
};

/// From a JSON file: {"ids": {LAYER: ROW, ...}, "embedding": [[...], ...]}.
/// Errors  user_error, naming the file: it cannot be read, is no JSON, or has other members, rows of unequal widths,
///         numbers that are not finite, or rows that are not there
/// Tests   tests/examples/growth_eval_test.cpp: ReadsWeights, SaysWhatIsWrong
[[nodiscard]] growth_vocabulary read_growth_vocabulary(const std::filesystem::path& path);

/// The agent whose weights are in a JSON file as PyTorch names them: "encoder.encoder.weight_ih_l0" and seven more of
/// the bidirectional LSTM, "decider.lstm.weight_ih_l0" and three more, "decider.linear1.weight" to
/// "decider.linear3.bias". The sizes are those of the arrays.
/// Errors  user_error, naming the file and the array: it cannot be read, is no JSON, an array is missing, unknown, of
///         another shape than the others say, or has a number that is not finite
/// Tests   tests/examples/growth_eval_test.cpp: ReadsWeights, SaysWhatIsWrong
[[nodiscard]] adapt::growth_agent read_growth_weights(const std::filesystem::path& path,
                                                      const growth_vocabulary& vocabulary);

}  // namespace rubato::lab

#endif
