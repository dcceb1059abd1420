#ifndef RUBATO_GLOO_PS_SHARD_HPP
#define RUBATO_GLOO_PS_SHARD_HPP

#include <cstdint>
#include <rubato/threads_ps/any_rule.hpp>
#include <rubato/threads_ps/slice.hpp>
#include <string>
#include <utility>
#include <vector>

namespace rubato::inline RUBATO_ABI::gloo_ps {

/// What a shard thread owns. All shards get the same updates in the same order, so equal versions mean equal updates.
using shard = threads_ps::slice<threads_ps::any_rule>;

/// What there is to save of a shard.
struct shard_image {
  std::uint64_t version = 0;                     ///< updates that it has seen
  std::vector<float> parameters{};               ///< of the shard alone
  std::string rule{};                            ///< its state()
  std::vector<threads_ps::open_round> rounds{};  ///< that were open, in their order
};
/// A copy of it all. In the thread that owns the shard.
[[nodiscard]] inline shard_image image_of(const shard& here) {
  return {here.version(), {here.parameters().begin(), here.parameters().end()}, here.rule().state(), here.rounds()};
}
/// Pre: of a shard of this size, whose rule takes such a state.
/// Tests   tests/integrations/gloo_ps/shard_test.cpp: ImageRoundTrip
inline void restore(shard& here, shard_image saved) {
  [[maybe_unused]] const bool taken = here.rule().restore(saved.rule);
  RUBATO_ASSERT(taken, "the state of another rule");
  here.restore(saved.version, std::move(saved.parameters), std::move(saved.rounds));
}

}  // namespace rubato::inline RUBATO_ABI::gloo_ps

#endif
