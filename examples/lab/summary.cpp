#include "summary.hpp"

#include <rubato/sync/bsp.hpp>

namespace rubato::lab {
namespace {

using runs = std::vector<std::optional<measurement>>;

[[nodiscard]] runs runs_of(const comparison& from, const comparison_row& row, std::optional<std::uint32_t> layers) {
  runs chosen = row.runs;
  for (std::size_t i = 0; i < chosen.size(); ++i)
    if (layers && from.hidden_layers[i] != *layers) chosen[i].reset();
  return chosen;
}

[[nodiscard]] row_summary summarise(const runs& all) {
  row_summary sum;
  std::vector<double> times;
  for (const auto& run : all) {
    if (!run) continue;
    times.push_back(run->time);
    ++sum.seeds;
    sum.reached += run->reached ? 1 : 0;
    sum.pushes += static_cast<double>(run->pushes);
    sum.updates += static_cast<double>(run->updates);
    sum.staleness_mean += run->staleness_mean;
    sum.staleness_p95 += static_cast<double>(run->staleness_p95);
    sum.idle_share += run->idle_share;
    sum.decision_share += run->decision_share;
    sum.final_accuracy += run->final_accuracy;
    sum.dropped += static_cast<double>(run->dropped);
    sum.overrides += static_cast<double>(run->overrides);
    sum.overhead += run->overhead;
    sum.overrun += run->overrun;
  }
  for (double* each : {&sum.pushes, &sum.updates, &sum.staleness_mean, &sum.staleness_p95, &sum.idle_share,
                       &sum.decision_share, &sum.final_accuracy, &sum.dropped, &sum.overrides,
                       &sum.overhead, &sum.overrun})
    *each /= sum.seeds;  // not a number without runs
  sum.time = support::bootstrap_interquartile_mean(times);
  sum.time_mean = support::mean_and_standard_error(times);
  return sum;
}

[[nodiscard]] std::optional<support::estimate> ratio(const runs& above, const runs& below) {
  std::vector<double> numerator, denominator;
  for (std::size_t i = 0; i < above.size(); ++i) {
    if (!above[i] || !below[i]) continue;
    numerator.push_back(above[i]->time);
    denominator.push_back(below[i]->time);
  }
  if (numerator.empty()) return std::nullopt;
  return support::bootstrap_ratio(numerator, denominator);
}

[[nodiscard]] std::optional<support::estimate> less_one(std::optional<support::estimate> of) {
  if (of) of->value -= 1, of->low -= 1, of->high -= 1;
  return of;
}

}  // namespace

comparison_summary summarise(const comparison& from, std::optional<std::uint32_t> hidden_layers) {
  comparison_summary all;
  std::vector<runs> chosen;
  for (const comparison_row& row : from.rows) {
    chosen.push_back(runs_of(from, row, hidden_layers));
    all.rows.push_back(summarise(chosen.back()));
    const row_summary& sum = all.rows.back();
    if (row.used.policy.kind() == bsp::kind && sum.reliable() &&
        (!all.baseline || sum.time.value < all.rows[*all.baseline].time.value))
      all.baseline = all.rows.size() - 1;
    if (row.used.policy.kind() == planned::kind && sum.reliable()) all.clairvoyant = all.rows.size() - 1;
  }
  for (std::size_t i = 0; i < all.rows.size(); ++i) {
    if (!all.rows[i].reliable()) continue;
    if (all.baseline) all.rows[i].speedup = ratio(chosen[*all.baseline], chosen[i]);
    if (all.clairvoyant) all.rows[i].regret = less_one(ratio(chosen[i], chosen[*all.clairvoyant]));
  }
  return all;
}

}  // namespace rubato::lab
