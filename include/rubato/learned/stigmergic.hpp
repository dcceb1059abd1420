#ifndef RUBATO_LEARNED_STIGMERGIC_HPP
#define RUBATO_LEARNED_STIGMERGIC_HPP

#include <string>
#include <string_view>

#include "../encode/progress_state.hpp"
#include "builtin.hpp"
#include "residual_policy.hpp"
#include "stigmergic_rule.hpp"

namespace rubato::inline RUBATO_ABI {

/// learned_policy without anybody who decides for all: workers start by the rule of stigmergic_rule, and each pushed
/// gradient brings an opinion of rate and batch with it, by the network that ships, from what the server has seen of
/// losses and steps; the batch is the running average of those opinions. What it needs of the host is what
/// learned_policy needs. What it gains and where it loses: docs/stigmergy.md.
///
/// Cost    as stigmergic_rule, and one encode and one evaluate per push
/// Tests   tests/learned/stigmergic_test.cpp: NeedsNoOptions, ChoosesRateAndBatch
/// stigmergic is that of a network of the shape that ships.
template <nn::ActionValueFunction Network>
struct basic_stigmergic : residual_policy<progress_state, Network, stigmergic_rule> {
  using base = residual_policy<progress_state, Network, stigmergic_rule>;  ///< what decides
  static constexpr std::string_view kind = "stigmergic";

  /// With the weights and the trained range of builtin_weights.hpp.
  explicit basic_stigmergic(const stigmergic_rule& rule = {})
      : base{detail::builtin::trained_network<Network>(), {detail::builtin::least, detail::builtin::most}, rule} {}

  [[nodiscard]] description describe() const {
    const description of = base::describe();
    return {"by traces: " + of.line, R"({"kind":"stigmergic","of":)" + of.json + "}"};
  }
};

/// The one whose weights ship: see basic_stigmergic.
using stigmergic = basic_stigmergic<detail::builtin::network>;

}  // namespace rubato::inline RUBATO_ABI

#endif
