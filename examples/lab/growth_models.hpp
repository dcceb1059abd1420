#ifndef RUBATO_EXAMPLES_LAB_GROWTH_MODELS_HPP
#define RUBATO_EXAMPLES_LAB_GROWTH_MODELS_HPP

#include <cstddef>
#include <filesystem>
#include <rubato/adapt/growth/growable_model.hpp>
#include <string>
#include <vector>

namespace rubato::lab {

/// The convolutional networks of the report: 10 layers for images of 32 x 32 ("convnet2"), and 9 ("convnet3"), with
/// three blocks each.
/// Errors  user_error: another name
/// Tests   tests/examples/growth_eval_test.cpp: ModelsAreThePublishedOnes
[[nodiscard]] adapt::growable_model published_model(const std::string& name);

/// A perceptron with ReLU: each hidden layer is a block, and may widen.
/// Tests   tests/examples/growth_tables_test.cpp: APerceptronIsWhatTheJobTrains
[[nodiscard]] adapt::growable_model perceptron(std::size_t inputs, const std::vector<std::size_t>& hidden,
                                               std::size_t outputs, bool widens = false);

/// From a JSON file: {"layers": [LAYER, ...], "blocks": [{"first": N, "layers": N, "insertion": [LAYER, ...]}, ...]}; a
/// block that widens has "widens": true, too.
/// Errors  user_error, naming the file: it cannot be read, has more than 1 MiB, is nested deeper than 64 levels, is no
///         JSON, has other members, or is what growable_model refuses
/// Tests   tests/examples/growth_tables_test.cpp: AModelIsReadAgain, SaysWhatIsWrongWithAModel,
///         AModelThatIsNestedTooDeepIsRefused, AModelThatIsTooLargeIsRefused, ALongValueOfAModelIsNotRepeatedWhole
[[nodiscard]] adapt::growable_model read_growable_model(const std::filesystem::path& file);
/// A model that nothing was inserted into, as such a document.
[[nodiscard]] std::string as_json(const adapt::growable_model& model);

}  // namespace rubato::lab

#endif
