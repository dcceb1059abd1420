// Decision logs, plain and gzip. Of what is accepted, times and indices are within what the log has.
#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>

#include "fuzz_target.hpp"
#include "lab/decision_history.hpp"
#include "scratch_folder.hpp"
#include "support/user_error.hpp"

namespace rubato::fuzz {
namespace of_decision_log {

void require_sound(const lab::decision_history& h) {
  require(h.workers > 0 && h.workers <= lab::largest_worker + 1, "there are workers");
  require(!h.steps.empty() && h.policies > 0, "there are steps, and a policy");
  require(h.first <= h.last && std::isfinite(h.first) && std::isfinite(h.last), "time runs forward");
  const auto within = [&](double time) { return h.first <= time && time <= h.last; };
  for (const lab::logged_step& s : h.steps)
    require(s.worker < h.workers && s.start <= s.end && s.end <= s.served && within(s.start) && within(s.served),
            "a step is within the log");
  require(std::ranges::is_sorted(h.steps, {}, &lab::logged_step::end), "steps are in the order of their ends");
  for (const lab::unfinished_step& s : h.unfinished)
    require(s.worker < h.workers && s.start <= s.end && within(s.start) && within(s.end),
            "what was cut off is within the log");
  for (const lab::logged_effect& e : h.effects) require(e.worker < h.workers, "an effect is somebody's");
  require(h.not_whole <= h.steps.size() && h.overlaps <= h.steps.size(), "counts are of steps");
}

void run(input bytes) {
  static const scratch_folder folder;
  input_reader in{bytes};
  const std::string_view text = text_of(in.rest());
  const bool compressed = !text.starts_with('{') && in.byte() % 2 == 1;
  const std::string file = compressed ? folder.write_gzip("log", text_of(in.rest())) : folder.write("log", text);
  try {
    require_sound(lab::read_decision_history(file));
  } catch (const support::user_error& e) {
    const std::string_view what = e.what();
    require(what.starts_with(file + ":") && what.size() < 2000 && what.find("expected") != what.npos,
            "a refusal says where and what was expected:", what);
  }
}

const registered here{"decision_log", run};

}  // namespace of_decision_log
}  // namespace rubato::fuzz
