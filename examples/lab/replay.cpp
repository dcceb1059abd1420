#include "replay.hpp"

#include <cmath>
#include <optional>
#include <rubato/core/types.hpp>
#include <rubato/sim/learning_rate.hpp>
#include <rubato/sim/open_rounds.hpp>

namespace rubato::lab {
namespace {

using kind = logged_effect::kind;

[[nodiscard]] bool is_push(kind what) { return what == kind::apply || what == kind::accumulate || what == kind::drop; }

}  // namespace

std::vector<float> losses_of(const decision_history& history, std::size_t most) {
  std::vector<float> losses;
  for (const logged_effect& each : history.effects)
    if (is_push(each.what) && losses.size() < most) losses.push_back(each.loss);
  return losses;
}

std::vector<float> replay(const decision_history& history, any_objective& goal, const sim::run_options& run,
                          std::size_t most) {
  struct under_way {
    sim::gradient work;
    float lr_scale = 1;
  };
  std::vector<std::optional<under_way>> workers(history.workers);
  std::vector<std::uint64_t> steps(history.workers);
  sim::open_rounds rounds;
  const sim::learning_rate rate{run.learning_rate};
  std::vector<float> losses;
  goal.reset(run.seed);
  for (const logged_effect& each : history.effects) {
    if (losses.size() >= most) break;
    std::optional<under_way>& me = workers[each.worker];
    switch (each.what) {
      case kind::release:
        me = under_way{goal.compute(each.worker, ++steps[each.worker], each.batch == 0 ? run.batch : each.batch),
                       each.factor};
        break;
      case kind::apply:
      case kind::accumulate:
      case kind::drop: {
        if (!me) {  // released before the log began
          losses.push_back(losses.empty() ? 1 : losses.back());
          break;
        }
        const sim::gradient work = me->work;
        losses.push_back(work.loss);
        if (!std::isfinite(work.loss)) return losses;
        const sim::contribution part{work.handle,
                                     applied_weight({.lr_scale = me->lr_scale}, each.factor, work.samples, run.batch)};
        me.reset();
        if (each.what == kind::accumulate) {
          rounds.add(each.round, part);
          break;
        }
        if (each.what == kind::apply) goal.update({&part, 1}, rate.at(losses.size() - 1));
        goal.release(work.handle);
        break;
      }
      case kind::lose:
        if (me) goal.release(me->work.handle);
        me.reset();
        break;
      case kind::flush:
      case kind::discard: {
        std::vector<sim::contribution>& parts = rounds.take(each.round);
        for (sim::contribution& part : parts) part.weight *= each.factor;
        if (each.what == kind::flush && !parts.empty()) goal.update(parts, rate.at(losses.size()));
        for (const sim::contribution& part : parts) goal.release(part.handle);
        break;
      }
    }
  }
  return losses;
}

}  // namespace rubato::lab
