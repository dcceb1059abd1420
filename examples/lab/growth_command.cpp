// `growth eval`: what an agent that grows models comes to, by tables of what each way of growing does.
#include <filesystem>

#include "commands.hpp"
#include "growth_eval.hpp"
#include "growth_tasks.hpp"
#include "growth_weights.hpp"
#include "result_output.hpp"

namespace rubato::lab {

int run_growth_eval(const growth_eval_arguments& given) {
  result_output to{given.json, {{"WEIGHTS", given.weights}, {"--vocabulary", given.vocabulary}}};
  const std::filesystem::path tables{given.tables};
  const auto vocabulary = read_growth_vocabulary(given.vocabulary.empty() ? tables / "vocab.json"
                                                                          : std::filesystem::path{given.vocabulary});
  const adapt::growth_agent agent = read_growth_weights(given.weights, vocabulary);
  const auto tasks = read_growth_tasks(tables);
  const auto appraisals = appraise(agent, tasks);
  return to.put(as_json(std::filesystem::path{given.weights}.stem().string(), appraisals), as_text(appraisals));
}

}  // namespace rubato::lab
