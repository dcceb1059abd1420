#include "growth_weights.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "growth_json.hpp"
#include "support/user_error.hpp"

namespace rubato::lab {
namespace {

using nlohmann::json;
using support::user_error;

constexpr std::size_t largest_weights = std::size_t{1} << 26;  // bytes of a file

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
      if (!std::isfinite(value)) refuse(name + ": found " + support::excerpt(number) + ", expected finite numbers");
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
      if (!names.contains(name))
        refuse("found " + support::excerpt(name) + ", which is no part of an agent for growth");
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

[[nodiscard]] growth_vocabulary vocabulary_in(const std::filesystem::path& path, const json& all) {
  const reader from{path, all};
  from.expect_only({"ids", "embedding", "unknown"});
  const numbers table = from.matrix("embedding");
  const auto row_in = [&](const std::string& name, const json& row) {
    if (!row.is_number_unsigned() || row.get<std::uint64_t>() >= table.rows)
      from.refuse(name + ": found " + support::excerpt(row) + ", expected a whole number below " +
                  std::to_string(table.rows));
    return row.get<std::uint32_t>();
  };
  const json& ids = from.member("ids");
  if (!ids.is_object()) from.refuse("ids: found no object, expected one with a number for each layer");
  std::vector<adapt::layer_word> words;
  for (const auto& [layer, row] : ids.items()) words.push_back({layer, row_in("ids: " + support::excerpt(layer), row)});
  std::optional<std::uint32_t> unknown;
  if (const auto at = all.find("unknown"); at != all.end()) unknown = row_in("unknown", *at);
  auto made = adapt::layer_vocabulary::make(std::move(words), static_cast<std::uint32_t>(table.rows), unknown);
  if (!made) from.refuse(made.error().message);
  return {.words = std::move(*made), .embeddings = table.values, .width = table.columns};
}

template <class Agent>
[[nodiscard]] json vocabulary_as_json(const Agent& agent) {
  json ids = json::object(), rows = json::array();
  for (const adapt::layer_word& word : agent.vocabulary.words()) ids[word.layer] = word.row;
  const std::size_t width = agent.network.shape().embedding;
  const std::span<const float> all = agent.network.embeddings();
  for (std::size_t row = 0; row * width < all.size(); ++row) {
    const auto numbers = all.subspan(row * width, width);
    rows.push_back(json(std::vector<float>(numbers.begin(), numbers.end())));
  }
  json made{{"ids", ids}, {"embedding", rows}};
  if (const auto unknown = agent.vocabulary.unknown()) made["unknown"] = *unknown;
  return made;
}

// So many rows and columns, of numbers by row and column.
template <class Number>
[[nodiscard]] json matrix_as_json(std::size_t rows, std::size_t columns, Number number) {
  json made = json::array();
  for (std::size_t r = 0; r < rows; ++r) {
    std::vector<float> row(columns);
    for (std::size_t c = 0; c < columns; ++c) row[c] = number(r, c);
    made.push_back(json(row));
  }
  return made;
}
void put_lstm(const nn::lstm& from, const std::string& prefix, const std::string& suffix, json& to) {
  const std::size_t inputs = from.inputs(), units = from.units(), gates = 4 * units;
  const std::span<const float> all = from.parameters();
  const auto of_input = [&](std::size_t g, std::size_t i) { return all[i * gates + g]; };
  to[prefix + "weight_ih_l0" + suffix] = matrix_as_json(gates, inputs, of_input);
  to[prefix + "weight_hh_l0" + suffix] =
      matrix_as_json(gates, units, [&](std::size_t g, std::size_t u) { return of_input(g, inputs + u); });
  const auto bias = all.subspan((inputs + units) * gates, gates);
  to[prefix + "bias_ih_l0" + suffix] = std::vector<float>(bias.begin(), bias.end());
  to[prefix + "bias_hh_l0" + suffix] = std::vector<float>(gates, 0.0F);
}

[[nodiscard]] std::set<std::string> names_of_members() {
  std::set<std::string> names{"vocabulary", "time", "network"};
  for (const char* const suffix : {"", "_reverse"})
    for (const char* const part : {"weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"}) {
      names.insert("encoder.encoder." + std::string{part} + suffix);
      names.insert("decider.lstm." + std::string{part});
    }
  for (const char* const layer : {"1", "2", "3"})
    for (const char* const part : {".weight", ".bias"}) names.insert("decider.linear" + std::string{layer} + part);
  return names;
}

constexpr std::array<std::pair<const char*, adapt::time_encoding>, 2> time_names{
    {{"sines", adapt::time_encoding::sines}, {"cosines", adapt::time_encoding::cosines}}};

[[nodiscard]] adapt::time_encoding time_in(const reader& from, const json& all) {
  const auto at = all.find("time");
  if (at == all.end()) return adapt::time_encoding::sines;
  for (const auto& [name, encoding] : time_names)
    if (*at == name) return encoding;
  from.refuse("time: found " + support::excerpt(*at) + ", expected \"sines\" or \"cosines\"");
}

[[nodiscard]] bool is_for_blocks(const reader& from, const json& all) {
  const auto at = all.find("network");
  if (at == all.end() || *at == "actions") return false;
  if (*at != "blocks") from.refuse("network: found " + support::excerpt(*at) + ", expected \"actions\" or \"blocks\"");
  return true;
}

// Either kind, of the shape that the arrays say.
template <class Agent, class Network>
[[nodiscard]] Agent agent_with(result<Network> network, const reader& from, const json& all,
                               const growth_vocabulary& vocabulary) {
  if (!network) from.refuse(network.error().message);
  std::copy(vocabulary.embeddings.begin(), vocabulary.embeddings.end(), network->embeddings().begin());
  put_lstm(from, "encoder.encoder.", "", network->encoder_forwards());
  put_lstm(from, "encoder.encoder.", "_reverse", network->encoder_backwards());
  put_lstm(from, "decider.lstm.", "", network->decider());
  for (std::size_t layer = 0; layer < 3; ++layer)
    put_layer(from, "decider.linear" + std::to_string(layer + 1), layer, network->head());
  return {.network = std::move(*network), .vocabulary = vocabulary.words, .time = time_in(from, all)};
}

// The sizes that the arrays say. A network of these sizes has no more numbers than a few for each that is in the file:
// whatever a row claims, all rows that it stands for are there.
[[nodiscard]] adapt::block_shape sizes_in(const reader& from, const growth_vocabulary& vocabulary) {
  const auto units_in = [&](const std::string& name) {
    const std::size_t units = from.matrix(name).columns;
    static_cast<void>(from.matrix(name, 4 * units, units));
    return units;
  };
  const adapt::block_shape sizes{.vocabulary = vocabulary.words.rows(),
                                 .embedding = vocabulary.width,
                                 .encoder = units_in("encoder.encoder.weight_hh_l0"),
                                 .decider = units_in("decider.lstm.weight_hh_l0"),
                                 .hidden = from.matrix("decider.linear1.weight").rows};
  static_cast<void>(from.matrix("encoder.encoder.weight_ih_l0", 4 * sizes.encoder, sizes.embedding));
  static_cast<void>(from.matrix("decider.linear2.weight", sizes.hidden, sizes.hidden));
  return sizes;
}

[[nodiscard]] any_growth_agent agent_in(const std::filesystem::path& path, const json& all,
                                        const growth_vocabulary& vocabulary) {
  const reader from{path, all};
  from.expect_only(names_of_members());
  const adapt::block_shape sizes = sizes_in(from, vocabulary);
  if (is_for_blocks(from, all))
    return agent_with<adapt::block_agent>(adapt::block_network::make(sizes), from, all, vocabulary);
  const std::size_t actions = from.matrix("decider.linear3.weight").rows;
  static_cast<void>(from.matrix("decider.linear3.weight", actions, sizes.hidden));
  const adapt::growth_shape shape{.vocabulary = sizes.vocabulary,
                                  .embedding = sizes.embedding,
                                  .encoder = sizes.encoder,
                                  .decider = sizes.decider,
                                  .hidden = sizes.hidden,
                                  .actions = actions};
  return agent_with<adapt::growth_agent>(adapt::growth_network::make(shape), from, all, vocabulary);
}

[[nodiscard]] const char* kind_of(const adapt::growth_agent&) { return "actions"; }
[[nodiscard]] const char* kind_of(const adapt::block_agent&) { return "blocks"; }

template <class Agent>
[[nodiscard]] json document_of(Agent agent) {
  auto& network = agent.network;
  json all;
  put_lstm(network.encoder_forwards(), "encoder.encoder.", "", all);
  put_lstm(network.encoder_backwards(), "encoder.encoder.", "_reverse", all);
  put_lstm(network.decider(), "decider.lstm.", "", all);
  for (std::size_t layer = 0; layer < 3; ++layer) {
    const auto weights = network.head().weight(layer);
    const auto bias = network.head().bias(layer);
    const std::string name = "decider.linear" + std::to_string(layer + 1);
    all[name + ".weight"] = matrix_as_json(bias.size(), network.head().layers()[layer].inputs,
                                           [&](std::size_t o, std::size_t i) { return weights(i, o); });
    all[name + ".bias"] = std::vector<float>(bias.begin(), bias.end());
  }
  all["vocabulary"] = vocabulary_as_json(agent);
  for (const auto& [name, encoding] : time_names)
    if (encoding == agent.time) all["time"] = name;
  all["network"] = kind_of(agent);
  return all;
}

}  // namespace

growth_vocabulary read_growth_vocabulary(const std::filesystem::path& path) {
  return vocabulary_in(path, object_in(path, largest_weights));
}

growth_vocabulary vocabulary_of(const std::vector<growth_task>& tasks, std::size_t width, random_sequence& random) {
  std::vector<adapt::layer_word> words;
  const auto add = [&](std::span<const std::string> layers) {
    for (const std::string& layer : layers)
      if (std::ranges::find(words, layer, &adapt::layer_word::layer) == words.end())
        words.push_back({layer, static_cast<std::uint32_t>(words.size())});
  };
  for (const growth_task& task : tasks) {
    add(task.start.layers());
    for (const adapt::growable_block& block : task.start.blocks()) add(block.insertion);
    // Widened layers are other layers.
    std::vector<adapt::growable_model> models{task.start};
    for (std::uint32_t step = 0; step < task.table.steps(); ++step) {
      std::vector<adapt::growable_model> grown;
      for (const adapt::growable_model& model : models)
        for (std::size_t action = model.blocks().size(); action + 1 < model.actions(); ++action) {
          grown.push_back(model);
          grown.back().grow(action);
          add(grown.back().layers());
          for (const adapt::growable_block& block : grown.back().blocks()) add(block.insertion);
        }
      models = std::move(grown);
    }
  }
  const auto unknown = static_cast<std::uint32_t>(words.size());
  growth_vocabulary made{.words = *adapt::layer_vocabulary::make(std::move(words), unknown + 1, unknown),
                         .embeddings = std::vector<float>((unknown + 1) * width),
                         .width = width};
  for (float& each : made.embeddings) each = static_cast<float>(random.normal());
  return made;
}

any_growth_agent read_growth_weights(const std::filesystem::path& path, const std::filesystem::path& vocabulary,
                                     const std::filesystem::path& usual) {
  const json all = object_in(path, largest_weights);
  const auto own = all.find("vocabulary");
  if (own == all.end()) {
    const std::filesystem::path& file = vocabulary.empty() ? usual : vocabulary;
    if (file.empty()) throw user_error{path.string() + ": found no vocabulary, expected one in it or a file of one"};
    return agent_in(path, all, read_growth_vocabulary(file));
  }
  if (!vocabulary.empty())
    throw user_error{path.string() + ": found a vocabulary in it, expected none beside " + vocabulary.string()};
  if (!own->is_object()) throw user_error{path.string() + ": vocabulary: found no object, expected one"};
  return agent_in(path, all, vocabulary_in(path.string() + ": vocabulary", *own));
}

std::string as_json(const any_growth_agent& agent) {
  return std::visit([](const auto& kind) { return document_of(kind).dump() + "\n"; }, agent);
}

}  // namespace rubato::lab
