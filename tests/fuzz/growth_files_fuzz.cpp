// What `growth eval` reads: tables, vocabularies, weights, models. By the first byte, modulo 4; from 128 on a byte of
// the rest can stand for thousands.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <rubato/adapt/growth/layer_vocabulary.hpp>
#include <rubato/io/utf8.hpp>
#include <string>
#include <string_view>
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

constexpr std::uint8_t repeats = 128;  // a bit of the first byte
constexpr char repeat = 0x01;          // which no table and no JSON has
constexpr std::size_t most = std::size_t{1} << 17;

// A file that is deep, or long, out of a few bytes: `repeat` puts what is before it there again, 256 times what the
// next byte says; the byte after that says how many bytes it is, less one and modulo 8.
std::string repeated(std::string_view text) {
  std::string all;
  for (std::size_t i = 0; i < text.size() && all.size() < most; ++i) {
    if (text[i] != repeat || i + 2 >= text.size()) {
      all += text[i];
      continue;
    }
    const std::size_t times = std::size_t{256} * static_cast<std::uint8_t>(text[++i]);
    const std::size_t width = 1U + static_cast<std::uint8_t>(text[++i]) % 8U;
    const std::string part = all.substr(all.size() - std::min(all.size(), width));
    for (std::size_t n = 0; n < times && all.size() < most; ++n) all += part;
  }
  return all;
}

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

// A layer that is `"",` in its file has a line of its own, indented. No other text gets longer by so much.
constexpr std::size_t widest = 4;

void read_model(const std::string& file, std::size_t size, const scratch_folder& folder) {
  const adapt::growable_model model = lab::read_growable_model(file);
  for (const adapt::growable_block& each : model.blocks())
    require(each.first + each.layers <= model.layers().size(), "blocks are within the layers");
  const std::string written = lab::as_json(model);
  require(written.size() <= widest * size,
          "a model is written in 4 bytes for one of its file at most:", std::to_string(written.size()));
  const adapt::growable_model same = lab::read_growable_model(folder.write("written", written));
  require(lab::as_json(same) == written, "what was written is read again, and written as it was");
  const auto words = adapt::layer_vocabulary::make({{"a", 0}}, 1);
  if (const auto rows = words->rows_of(model.layers()); !rows)
    require(is_plain(rows.error().message) && rows.error().message.size() < 500, "a refusal is plain, and short");
  const unsigned times = size <= 4096 ? 70 : 2;  // 70: beyond what a number can be doubled
  for (std::size_t number = 0; number < std::min<std::size_t>(model.actions(), 8); ++number) {
    adapt::growable_model grown = model;
    for (unsigned again = 0; again < times; ++again) grown.grow(number);
    require(grown.actions() == model.actions(), "growing leaves the actions as they are");
    const auto what = model.action(number);
    const bool deepens = what && what->kind == adapt::growth_kind::deepen;
    require(grown.insertions() == model.insertions() + (deepens ? times : 0U), "what was inserted is counted");
  }
}

void run(input bytes) {
  static const scratch_folder folder;
  input_reader in{bytes};
  const unsigned first = in.byte(), what = first % 4U;
  static const std::string vocabulary = folder.write("vocabulary", known);
  const std::string text = (first & repeats) != 0 ? repeated(text_of(in.rest())) : std::string{text_of(in.rest())};
  const std::string file = folder.write("file", text);
  try {
    if (what == 0) read_table(file);
    if (what == 1) static_cast<void>(lab::read_growth_vocabulary(file));
    if (what == 2) read_weights(file, vocabulary);
    if (what == 3) read_model(file, text.size(), folder);
  } catch (const support::user_error& e) {
    const std::string said = e.what();
    require(said.starts_with(file), "a refusal begins with the file:", said);
    require(said.find('\n') == std::string::npos, "a refusal is one line:", said);
    require(said.size() < 500, "a refusal has less than 500 bytes:", std::to_string(said.size()));
  }
}

const registered here{"growth_files", run};

}  // namespace of_growth_files
}  // namespace rubato::fuzz
