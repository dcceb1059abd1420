#include "planned.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

namespace rubato::lab {

planned::planned(plan stages, const sim::cluster_options& machines, std::uint64_t seed)
    : stages_{std::move(stages)}, machines_{machines}, stragglers_{machines.stragglers, machines.workers, seed} {}

void planned::resize(std::uint32_t capacity) {
  steps_.assign(capacity, 0);
  waiting_.assign(capacity, 1);
}

void planned::observe(const feedback& step) noexcept {
  ++steps_[step.what.worker];
  waiting_[step.what.worker] = 1;
}

// One at a time, since that is how a worker is named; as long as some are missing it asks to be asked again at once.
decision planned::release(const cluster_view& view, const event& what) noexcept {
  const plan_stage& now = stage_at(what.now);
  if (view.busy() >= now.running) return decision::hold();
  const std::uint32_t next = soonest(what.now);
  if (next == no_worker) return decision::hold();
  waiting_[next] = 0;
  const decision one = decision::only(next).with_lr_scale(now.lr_scale);
  const bool more = view.busy() + 1 < now.running && view.parked() > 1;
  return more ? one.with_wake_at(std::nextafter(what.now, std::numeric_limits<double>::infinity())) : one;
}

const plan_stage& planned::stage_at(double now) const noexcept {
  auto next = std::ranges::upper_bound(stages_, now, {}, &plan_stage::from);
  return next == stages_.begin() ? *next : *std::prev(next);
}

std::uint32_t planned::soonest(double now) noexcept {
  const auto& times = machines_.step_time;
  std::uint32_t best = no_worker;
  double least = std::numeric_limits<double>::infinity();
  for (std::uint32_t w = 0; w < waiting_.size(); ++w) {
    if (waiting_[w] == 0) continue;
    const double computing = times[times.size() == 1 ? 0 : w];
    const double length = computing + stragglers_.sleep(w, steps_[w] + 1, now + computing);
    if (length < least) least = length, best = w;
  }
  return best;
}

description planned::describe() const {
  const std::string stages = plan_text(stages_);
  return {"planned: follows " + stages + " ([from, running, lr_scale], ...), knowing how long each step will be",
          R"({"kind":"planned","stages":)" + stages + "}"};
}

std::string plan_text(const plan& stages) {
  nlohmann::json list = nlohmann::json::array();
  for (const plan_stage& each : stages) list.push_back({each.from, each.running, each.lr_scale});
  return list.dump();
}

static_assert(SyncPolicy<planned>);

}  // namespace rubato::lab
