#ifndef RUBATO_SYNC_RIVALS_SYNC_SWITCH_OPTIONS_HPP
#define RUBATO_SYNC_RIVALS_SYNC_SWITCH_OPTIONS_HPP

#include <cstdint>
#include <string>
#include <string_view>

#include "../../core/number_text.hpp"
#include "../extras/straggler_detector.hpp"
#include "wording.hpp"

namespace rubato::inline RUBATO_ABI {

/// What sync_switch does about stragglers, as long as the share of its first policy is not done.
enum class straggler_reaction : std::uint8_t {
  none,    ///< nothing
  greedy,  ///< the second policy is in charge while there is one
  elastic  ///< whoever is one is excluded until the switch
};

/// The reaction as it appears in descriptions and in the lab.
[[nodiscard]] constexpr std::string_view name(straggler_reaction reaction) noexcept {
  if (reaction == straggler_reaction::none) return "none";
  return reaction == straggler_reaction::greedy ? "greedy" : "elastic";
}

/// When sync_switch switches, and what else it does.
struct sync_switch_options {
  double share = 0.0625;            ///< of the workload that is done under the first policy, 0 to 1
  std::uint64_t workload = 64'000;  ///< of the whole training: steps of one worker, at least 1
  straggler_reaction reaction = straggler_reaction::none;  ///< until the switch
  straggler_options stragglers{};                          ///< who is one
  bool scales_rate = false;  ///< an update by m admitted gradients has m times the rate: the linear scaling rule

  /// What is wrong with them, as a sentence; empty if nothing is.
  [[nodiscard]] std::string problem() const {
    return detail::first_of(
        {detail::unless(pinned::is_finite(share) && share >= 0 && share <= 1, "share", share, "a number from 0 to 1"),
         detail::below("workload", workload, 1),
         detail::unless(reaction <= straggler_reaction::elastic, "reaction", reaction, "none, greedy or elastic"),
         reaction == straggler_reaction::none ? std::string{} : rubato::problem(stragglers)});
  }
  /// What stands in a sentence between the names of the two policies, and what stands after them.
  [[nodiscard]] std::string until() const {
    return " for " + detail::text_of(share) + " of " + std::to_string(workload) + " steps, then ";
  }
  [[nodiscard]] std::string besides() const {
    std::string text;
    if (reaction != straggler_reaction::none) text.append("; ").append(name(reaction)).append(" about stragglers");
    return scales_rate ? text.append("; the rate of an update grows with its gradients") : text;
  }  ///< empty where nothing does
  /// As members of a JSON object; those of the detector only where it is used.
  [[nodiscard]] std::string json() const {
    std::string text = R"("share":)" + detail::text_of(share);
    text.append(R"(,"workload":)").append(std::to_string(workload));
    text.append(R"(,"reaction":")").append(name(reaction)).append(R"(")");
    if (reaction != straggler_reaction::none) {
      const straggler_options& s = stragglers;
      text.append(R"(,"stragglers":{"test":")").append(s.test == straggler_options::robust ? "robust" : "published");
      text.append(R"(","window":)").append(detail::text_of(s.window));
      text.append(R"(,"steps":)").append(std::to_string(s.steps));
      text.append(R"(,"windows":)").append(std::to_string(s.windows));
      text.append(R"(,"slow":)").append(detail::text_of(s.slow));
      text.append(R"(,"recovered":)").append(detail::text_of(s.recovered)).append("}");
    }
    return text.append(R"(,"scales_rate":)").append(scales_rate ? "true" : "false");
  }
};

}  // namespace rubato::inline RUBATO_ABI

#endif
