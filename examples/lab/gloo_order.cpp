#include "gloo_order.hpp"

#include <charconv>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "support/user_error.hpp"

namespace rubato::lab {
namespace {

using nlohmann::json;

[[nodiscard]] std::filesystem::path file_in(const std::filesystem::path& folder) { return folder / "order.json"; }

template <class Number>
[[nodiscard]] Number number_of(const std::string& word) {
  Number value{};
  const char* const end = word.data() + word.size();
  const auto [rest, error] = std::from_chars(word.data(), end, value);
  if (error != std::errc{} || rest != end) throw support::user_error{"found \"" + word + "\", expected a number"};
  return value;
}

}  // namespace

void gloo_order::write(const std::filesystem::path& folder) const {
  const json all{{"scenario", support::to_json(at.scenario)},
                 {"hidden_layers", at.hidden_layers},
                 {"unit_seconds", at.unit_seconds},
                 {"seed", seed},
                 {"data", data.string()},
                 {"fingerprint", fingerprint},
                 {"time_limit", time_limit}};
  std::ofstream file{file_in(folder), std::ios::binary};
  file << all.dump();
  if (!file.flush()) throw std::runtime_error{file_in(folder).string() + ": cannot be written"};
}

gloo_order gloo_order::read(const std::filesystem::path& folder) {
  const std::string name = file_in(folder).string();
  std::ifstream file{name, std::ios::binary};
  const json all = json::parse(std::istreambuf_iterator<char>{file}, {}, nullptr, false);
  try {
    gloo_order order;
    order.at.scenario = support::read_scenario(all.at("scenario").dump(), name);
    order.at.hidden_layers = all.at("hidden_layers").get<std::uint32_t>();
    order.at.unit_seconds = all.at("unit_seconds").get<double>();
    order.at.host = host_kind::gloo;
    order.seed = all.at("seed").get<std::uint64_t>();
    order.data = all.at("data").get<std::string>();
    order.fingerprint = all.at("fingerprint").get<std::uint64_t>();
    order.time_limit = all.at("time_limit").get<unsigned>();
    return order;
  } catch (const json::exception& e) {
    throw std::runtime_error{name + ": " + e.what()};
  }
}

gloo_worker_arguments gloo_worker_arguments::from(const std::vector<std::string>& words) {
  if (words.size() != 4) throw support::user_error{"expected a folder and three numbers, as only the lab has them"};
  return {.folder = words[0],
          .index = number_of<std::uint32_t>(words[1]),
          .incarnation = number_of<std::uint32_t>(words[2]),
          .parent = number_of<int>(words[3])};
}

}  // namespace rubato::lab
