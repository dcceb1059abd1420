// Scenarios, as JSON and as KEY=VALUE settings. What is accepted can be simulated, and is written and read back equal;
// a setting that is refused leaves the scenario as it was.
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz_target.hpp"
#include "support/scenario.hpp"
#include "support/user_error.hpp"

namespace rubato::fuzz {
namespace of_scenario {

using support::scenario;

void require_sentence(const support::user_error& e, std::string_view begin) {
  const std::string_view what = e.what();
  require(what.starts_with(begin) && what.size() < 2000 && what.find('\n') == what.npos,
          "a refusal is one line that says where:", what);
}

void require_sound(scenario read) {
  const std::string text = to_json(read).dump();
  const scenario again = support::read_scenario(text, "file");
  require(again == read && to_json(again).dump() == text, "it comes back");
  require(canonical_form(again) == canonical_form(read) && hash(again) == hash(read), "it has the same hash then");
  if (read.run.target_accuracy == scenario::auto_target) read.run.target_accuracy = 0.5;
  require(problem(read.cluster).empty(), "the simulator takes the cluster:", problem(read.cluster));
  require(problem(read.run).empty(), "the simulator takes the run:", problem(read.run));
  read.sgd.hidden_layers = read.hidden_layers.back();
  require(problem(read.sgd) == nullptr, "the simulator takes the objective");
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  for (std::size_t end = 0; end != text.npos; text.remove_prefix(end == text.npos ? 0 : end + 1)) {
    end = text.find('\n');
    lines.emplace_back(text.substr(0, end));
  }
  return lines;
}

void run(input bytes) {
  const std::string_view text = text_of(bytes);
  if (!text.starts_with('+')) {
    try {
      require_sound(support::read_scenario(text, "file"));
    } catch (const support::user_error& e) {
      require_sentence(e, "file: ");
    }
    return;
  }
  scenario one;
  one.name = "default";
  const scenario before = one;
  try {
    apply_settings(one, lines_of(text.substr(1)));
  } catch (const support::user_error& e) {
    require(one == before, "a refused setting changes nothing");
    return require_sentence(e, "--set");
  }
  require_sound(one);
}

const registered here{"scenario", run};

}  // namespace of_scenario
}  // namespace rubato::fuzz
