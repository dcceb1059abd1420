#include "measurement.hpp"

#include <type_traits>

namespace rubato::lab {
namespace {

// One list of members for both directions.
template <class Measurement, class Visit>
void each_member(Measurement& m, Visit&& visit) {
  visit("time", m.time);
  visit("reached", m.reached);
  visit("end", m.end);
  visit("ended", m.ended);
  visit("pushes", m.pushes);
  visit("updates", m.updates);
  visit("staleness_mean", m.staleness_mean);
  visit("staleness_p95", m.staleness_p95);
  visit("idle_share", m.idle_share);
  visit("decision_share", m.decision_share);
  visit("final_accuracy", m.final_accuracy);
  visit("dropped", m.dropped);
  visit("overrides", m.overrides);
  visit("switches", m.switches);
  visit("overhead", m.overhead);
  visit("overrun", m.overrun);
  visit("climb", m.climb);
}

}  // namespace

measurement summary(const sim::run_result& run) {
  const auto& gradients = run.gradients;
  measurement made{.time = run.time,
                   .reached = run.reached,
                   .end = std::string{name(run.end)},
                   .ended = run.ended,
                   .pushes = run.pushes,
                   .updates = run.updates,
                   .staleness_mean = run.staleness_mean,
                   .staleness_p95 = run.staleness_p95,
                   .idle_share = run.idle_share,
                   .decision_share = run.decision_share,
                   .final_accuracy = run.final_accuracy,
                   .dropped = gradients.dropped + gradients.discarded + gradients.lost,
                   .overrides = run.overrides};
  for (const sim::curve_point& each : run.curve) made.climb_to(each.time, each.accuracy);
  return made;
}

nlohmann::json to_json(const measurement& m) {
  nlohmann::json object;
  each_member(m, [&](const char* name, const auto& member) { object[name] = member; });
  return object;
}

std::optional<measurement> measurement_from(const nlohmann::json& object) {
  measurement m;
  bool is_one = true;
  try {
    each_member(m, [&]<class Member>(const char* name, Member& member) {
      const nlohmann::json& value = object.at(name);
      if (std::is_same_v<Member, std::uint64_t> && !value.is_number_unsigned())
        is_one = false;  // get_to() would convert what no integer can hold
      else
        value.get_to(member);
    });
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
  return is_one ? std::optional{m} : std::nullopt;
}

}  // namespace rubato::lab
