// Tables of trainings that switch. Of what is accepted, shares are shares, and times and accuracies are numbers.
#include <cmath>
#include <filesystem>
#include <string>
#include <string_view>

#include "fuzz_target.hpp"
#include "lab/switch_logs.hpp"
#include "scratch_folder.hpp"
#include "support/user_error.hpp"

namespace rubato::fuzz {
namespace of_switch_logs {

void require_sound(const lab::switch_logs& logs) {
  require(logs.workers >= 2 && logs.rounds >= 1, "there are workers and rounds");
  for (const lab::logged_training& each : logs.used) {
    require(each.share >= 0 && each.share <= 1, "a share is one");
    require(each.outcome.diverged || (std::isfinite(each.outcome.accuracy) && each.outcome.time > 0),
            "what did not diverge has an accuracy and a time");
    require(std::isfinite(each.outcome.time) && each.outcome.time >= 0, "a time is one");
  }
  for (const lab::unused_training& each : logs.unused) require(!each.why.empty(), "what is not used has a reason");
  for (double before = 2; const adapt::logged_share& each : shares_of(logs)) {
    require(each.share < before && !each.runs.empty(), "shares fall");
    before = each.share;
  }
}

void run(input bytes) {
  static const scratch_folder folder;
  const std::string file = folder.write("summary.csv", text_of(bytes));
  try {
    require_sound(lab::read_switch_logs(folder.path().string(), "w"));
  } catch (const support::user_error& e) {
    const std::string_view what = e.what();
    require(what.find(file) != what.npos && what.find("expected") != what.npos,
            "a refusal says where and what was expected:", what);
  }
}

const registered here{"switch_logs", run};

}  // namespace of_switch_logs
}  // namespace rubato::fuzz
