#ifndef RUBATO_ADAPT_BATCH_SIZERS_WARM_UP_HPP
#define RUBATO_ADAPT_BATCH_SIZERS_WARM_UP_HPP

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "../../core/archive.hpp"
#include "../../sync/rivals/wording.hpp"
#include "../batch_sizer.hpp"

namespace rubato::inline RUBATO_ABI::adapt {

/// A schedule: from the initial batch to `last`, in equal steps of its logarithm, over so many periods; the same for
/// all workers. Noise matters more the nearer the end is, so that small batches are cheap at first.
///
/// Options  last: batch in the end; over: periods until then
/// Cost     O(workers). No allocation.
/// Source   Smith et al., "Don't Decay the Learning Rate, Increase the Batch Size", ICLR 2018
/// Tests    tests/adapt/batch_sizers_test.cpp: WarmUpByHand
struct warm_up {
  std::uint32_t last = 256;  ///< samples in the end
  std::uint32_t over = 10;   ///< periods until then

  void resize(std::uint32_t) noexcept {}
  void forget(std::uint32_t) noexcept {}
  void operator()(const batch_period& seen, std::span<std::uint32_t> batches) noexcept {
    const double share = (std::min)(1.0, static_cast<double>(seen.number + 1) / over);
    const double batch = seen.initial * std::pow(static_cast<double>(last) / seen.initial, share);
    std::fill(batches.begin(), batches.end(), static_cast<std::uint32_t>(std::lround(batch)));
  }
  void state(archive&) noexcept {}
  [[nodiscard]] std::string problem() const {
    return rubato::detail::first_of({rubato::detail::below("last", last, 1), rubato::detail::below("over", over, 1)});
  }
  [[nodiscard]] description describe() const {
    return {rubato::detail::sentence_of("batches that become ", last, " over ", over, " periods"),
            rubato::detail::json_of("warm-up", {{"last", last}, {"over", over}})};
  }
};

}  // namespace rubato::inline RUBATO_ABI::adapt

#endif
