#include "growth_weights.hpp"

#include <cmath>
#include <fstream>
#include <initializer_list>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "support/user_error.hpp"

namespace rubato::lab {
namespace {

using nlohmann::json;
using support::user_error;

[[nodiscard]] json read_json(const std::filesystem::path& path) {
  std::ifstream file{path, std::ios::binary};
  if (!file) throw user_error{path.string() + ": cannot be read"};
  json all = json::parse(file, nullptr, false);
  if (!all.is_object()) throw user_error{path.string() + ": found no JSON object, expected one"};
  return all;
}

// A vector or a matrix, row after row.
struct numbers {
  std::size_t rows = 0, columns = 0;  // of a vector: columns alone, rows 1
  std::vector<float> values;
};

class reader {
 public:
  reader(const std::filesystem::path& path, const json& all) : path_{path}, all_{all} {}

  [[noreturn]] void refuse(const std::string& what) const { throw user_error{path_.string() + ": " + what}; }

  [[nodiscard]] numbers matrix(const std::string& name, const json& rows) const {
    numbers read;
    if (!rows.is_array() || rows.empty()) refuse(name + ": found no array of rows, expected one");
    for (const json& row : rows) {
      const numbers one = vector(name, row);
      if (read.rows++ == 0) read.columns = one.columns;
      if (one.columns != read.columns)
        refuse(name + ": found rows of " + std::to_string(read.columns) + " and of " + std::to_string(one.columns) +
               " numbers, expected rows of one length");
      read.values.insert(read.values.end(), one.values.begin(), one.values.end());
    }
    return read;
  }
  [[nodiscard]] numbers vector(const std::string& name, const json& row) const {
    if (!row.is_array() || row.empty()) refuse(name + ": found no array of numbers, expected one");
    numbers read{.rows = 1, .columns = row.size(), .values = {}};
    for (const json& number : row) {
      const float value = number.is_number() ? number.get<float>() : std::nanf("");
      if (!std::isfinite(value)) refuse(name + ": found " + number.dump() + ", expected finite numbers");
      read.values.push_back(value);
    }
    return read;
  }
  [[nodiscard]] const json& member(const std::string& name) const {
    const auto at = all_.find(name);
    if (at == all_.end()) refuse("found no \"" + name + "\", expected one");
    return *at;
  }
  [[nodiscard]] numbers matrix(const std::string& name) const { return matrix(name, member(name)); }
  // Of so many rows and columns.
  [[nodiscard]] numbers matrix(const std::string& name, std::size_t rows, std::size_t columns) const {
    numbers read = matrix(name);
    if (read.rows != rows || read.columns != columns)
      refuse(name + ": found " + std::to_string(read.rows) + " rows of " + std::to_string(read.columns) +
             ", expected " + std::to_string(rows) + " of " + std::to_string(columns));
    return read;
  }
  [[nodiscard]] numbers vector(const std::string& name, std::size_t size) const {
    numbers read = vector(name, member(name));
    if (read.columns != size)
      refuse(name + ": found " + std::to_string(read.columns) + " numbers, expected " + std::to_string(size));
    return read;
  }
  void expect_only(const std::set<std::string>& names) const {
    for (const auto& [name, value] : all_.items())
      if (!names.contains(name)) refuse("found \"" + name + "\", which is no part of an agent for growth");
  }

 private:
  const std::filesystem::path& path_;
  const json& all_;
};

// PyTorch has a row of weights for each output, rubato one for each input.
void put_lstm(const reader& from, const std::string& prefix, const std::string& suffix, nn::lstm& to) {
  const std::size_t inputs = to.inputs(), units = to.units(), gates = 4 * units;
  const numbers by_input = from.matrix(prefix + "weight_ih_l0" + suffix, gates, inputs);
  const numbers by_hidden = from.matrix(prefix + "weight_hh_l0" + suffix, gates, units);
  const numbers bias = from.vector(prefix + "bias_ih_l0" + suffix, gates);
  const numbers other = from.vector(prefix + "bias_hh_l0" + suffix, gates);
  const std::span<float> all = to.parameters();
  for (std::size_t g = 0; g < gates; ++g) {
    for (std::size_t i = 0; i < inputs; ++i) all[i * gates + g] = by_input.values[g * inputs + i];
    for (std::size_t u = 0; u < units; ++u) all[(inputs + u) * gates + g] = by_hidden.values[g * units + u];
    all[(inputs + units) * gates + g] = bias.values[g] + other.values[g];
  }
}

void put_layer(const reader& from, const std::string& name, std::size_t layer, nn::dynamic_mlp& to) {
  const auto weights = to.weight(layer);
  const auto bias = to.bias(layer);
  const std::size_t outputs = bias.size(), inputs = to.layers()[layer].inputs;
  const numbers read = from.matrix(name + ".weight", outputs, inputs);
  for (std::size_t o = 0; o < outputs; ++o)
    for (std::size_t i = 0; i < inputs; ++i) weights(i, o) = read.values[o * inputs + i];
  const numbers read_bias = from.vector(name + ".bias", outputs);
  std::copy(read_bias.values.begin(), read_bias.values.end(), bias.begin());
}

[[nodiscard]] std::set<std::string> names_of_weights() {
  std::set<std::string> names;
  for (const char* const suffix : {"", "_reverse"})
    for (const char* const part : {"weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"}) {
      names.insert("encoder.encoder." + std::string{part} + suffix);
      names.insert("decider.lstm." + std::string{part});
    }
  for (const char* const layer : {"1", "2", "3"})
    for (const char* const part : {".weight", ".bias"}) names.insert("decider.linear" + std::string{layer} + part);
  return names;
}

}  // namespace

growth_vocabulary read_growth_vocabulary(const std::filesystem::path& path) {
  const json all = read_json(path);
  const reader from{path, all};
  const numbers table = from.matrix("embedding");
  const json& ids = from.member("ids");
  if (!ids.is_object()) from.refuse("ids: found no object, expected one with a number for each layer");
  std::vector<adapt::layer_word> words;
  for (const auto& [layer, row] : ids.items()) {
    if (!row.is_number_unsigned() || row.get<std::uint64_t>() >= table.rows)
      from.refuse("ids: \"" + layer + "\": found " + row.dump() + ", expected a whole number below " +
                  std::to_string(table.rows));
    words.push_back({layer, row.get<std::uint32_t>()});
  }
  auto made = adapt::layer_vocabulary::make(std::move(words), static_cast<std::uint32_t>(table.rows));
  if (!made) from.refuse(made.error().message);
  return {.words = std::move(*made), .embeddings = table.values, .width = table.columns};
}

adapt::growth_agent read_growth_weights(const std::filesystem::path& path, const growth_vocabulary& vocabulary) {
  const json all = read_json(path);
  const reader from{path, all};
  from.expect_only(names_of_weights());
  const adapt::growth_shape shape{.vocabulary = vocabulary.words.rows(),
                                  .embedding = vocabulary.width,
                                  .encoder = from.matrix("encoder.encoder.weight_hh_l0").columns,
                                  .decider = from.matrix("decider.lstm.weight_hh_l0").columns,
                                  .hidden = from.matrix("decider.linear1.weight").rows,
                                  .actions = from.matrix("decider.linear3.weight").rows};
  auto network = adapt::growth_network::make(shape);
  if (!network) from.refuse(network.error().message);
  std::copy(vocabulary.embeddings.begin(), vocabulary.embeddings.end(), network->embeddings().begin());
  put_lstm(from, "encoder.encoder.", "", network->encoder_forwards());
  put_lstm(from, "encoder.encoder.", "_reverse", network->encoder_backwards());
  put_lstm(from, "decider.lstm.", "", network->decider());
  for (std::size_t layer = 0; layer < 3; ++layer)
    put_layer(from, "decider.linear" + std::to_string(layer + 1), layer, network->head());
  return {.network = std::move(*network), .vocabulary = vocabulary.words};
}

}  // namespace rubato::lab
