// What `growth eval` reads: tables, vocabularies, weights, models. By the first byte, modulo 4.
#include <algorithm>
#include <cstdint>
#include <rubato/io/utf8.hpp>
#include <string>
#include <variant>
#include <vector>

#include "fuzz_target.hpp"
#include "lab/growth_eval.hpp"
#include "lab/growth_models.hpp"
#include "lab/growth_tasks.hpp"
#include "lab/growth_weights.hpp"
#include "scratch_folder.hpp"
#include "support/user_error.hpp"

namespace rubato::fuzz {
namespace of_growth_files {

void read_table(const std::string& file) {
  const adapt::growth_table table = lab::read_growth_table(file);
  std::vector<bool> taken(table.sequences() + 1, false);
  for (std::size_t n = 0; n < table.sequences(); ++n) {
    require(table.accuracy(n) >= 0 && table.accuracy(n) <= table.best() && table.best() <= 1, "accuracies are shares");
    require(table.rank(n) >= 1 && table.rank(n) <= table.sequences() && !taken[table.rank(n)], "each has a rank");
    taken[table.rank(n)] = true;
  }
}

// One row, for whatever layer.
const char* const known = R"({"ids": {"a": 0}, "embedding": [[0.5, -1]], "unknown": 0})";

void read_weights(const std::string& file, const std::string& vocabulary) {
  const lab::any_growth_agent agent = lab::read_growth_weights(file, {}, vocabulary);
  const auto model = adapt::growable_model::make({"a", "b"}, {{0, 1, {"c"}}});
  if (const auto said = std::visit([&](const auto& kind) { return kind.advise(*model, 1, 2); }, agent)) {
    float sum = 0;
    for (const float x : said->probabilities) sum += x;
    require(sum > 0.99F && sum < 1.01F && said->action < said->probabilities.size(), "probabilities add up");
  }
}

void read_model(const std::string& file) {
  const adapt::growable_model model = lab::read_growable_model(file);
  for (const adapt::growable_block& each : model.blocks())
    require(each.first + each.layers <= model.layers().size(), "blocks are within the layers");
  require(lab::as_json(model).size() < 1'000'000, "a model is as long as its file at most");
  for (std::size_t number = 0; number < std::min<std::size_t>(model.actions(), 8); ++number) {
    adapt::growable_model grown = model;
    for (int again = 0; again < 70; ++again) grown.grow(number);  // beyond what a number can be doubled
    require(grown.actions() == model.actions(), "growing leaves the actions as they are");
    const auto what = model.action(number);
    const bool deepens = what && what->kind == adapt::growth_kind::deepen;
    require(grown.insertions() == model.insertions() + (deepens ? 70U : 0U), "what was inserted is counted");
  }
}

void run(input bytes) {
  static const scratch_folder folder;
  input_reader in{bytes};
  const unsigned what = in.byte() % 4U;
  static const std::string vocabulary = folder.write("vocabulary", known);
  const std::string file = folder.write("file", text_of(in.rest()));
  try {
    if (what == 0) read_table(file);
    if (what == 1) static_cast<void>(lab::read_growth_vocabulary(file));
    if (what == 2) read_weights(file, vocabulary);
    if (what == 3) read_model(file);
  } catch (const support::user_error& e) {
    const std::string said = e.what();
    require(said.starts_with(file), "a refusal begins with the file:", said);
    require(said.size() < 10'000 && said.find('\n') == std::string::npos, "a refusal is one line:", said);
  }
}

const registered here{"growth_files", run};

}  // namespace of_growth_files
}  // namespace rubato::fuzz
