#ifndef RUBATO_CUDA_PS_HOST_SHARDS_HPP
#define RUBATO_CUDA_PS_HOST_SHARDS_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <rubato/core/result.hpp>
#include <span>
#include <utility>
#include <vector>

#include "apply.cuh"

namespace rubato::inline RUBATO_ABI::cuda_ps {

/// Where the shards of a vector begin: multiples of 4, so that each is read in words of 16 bytes.
struct shard_layout {
  std::size_t size = 0;      ///< parameters
  std::uint32_t shards = 1;  ///< at least 1

  /// Numbers of all shards, those that fill up the last quad among them.
  [[nodiscard]] constexpr std::size_t padded() const noexcept { return (size + 3) / 4 * 4; }
  /// Where shard s begins; of s == shards where the last one ends.
  [[nodiscard]] constexpr std::size_t begin(std::uint32_t s) const noexcept { return padded() / 4 * s / shards * 4; }
  /// Numbers of shard s, a multiple of 4.
  [[nodiscard]] constexpr std::size_t size_of(std::uint32_t s) const noexcept { return begin(s + 1) - begin(s); }
};

/// The shards in memory of the host: what does a log again, and what decisions are tested on without a device. The
/// bits are those of the device.
///
/// Thread  not thread-safe: carry_out() is called under the mutex of the decisions. gradient() and copy() of a worker
///         belong to it while it computes.
/// Tests   tests/integrations/cuda_ps/apply_test.cpp: ShardsDoNotMatter;
///         tests/integrations/cuda_ps/host_decisions_test.cpp
class host_shards {
 public:
  /// Copies `initial`; all else begins with zeros. `log_capacity`: entries of the log that are kept. Allocates.
  host_shards(std::span<const float> initial, std::uint32_t workers, std::uint32_t shards = 1,
              std::size_t log_capacity = 0)
      : layout_{initial.size(), shards},
        values_(quads()),
        first_(quads()),
        second_(quads()),
        sum_(quads()),
        gradients_(quads() * workers * slots_of_worker),
        copies_(quads() * workers),
        log_(log_capacity) {
    std::ranges::copy(initial, numbers(values_));
  }

  /// Cannot fail.
  error carry_out(const order& o, const waiting_gradients& waiting) {
    for (std::uint32_t s = 0; s < layout_.shards; ++s) cuda_ps::carry_out(o, waiting, view(s), cuda::one_lane{});
    write_log(o, waiting, {log_.data(), log_.size()});
    return {};
  }
  /// Shard s, valid as long as this.
  [[nodiscard]] shard_view view(std::uint32_t s) noexcept {
    const std::size_t at = layout_.begin(s);
    return {.size = layout_.size_of(s),
            .values = numbers(values_) + at,
            .first = numbers(first_) + at,
            .second = numbers(second_) + at,
            .sum = numbers(sum_) + at,
            .gradients = numbers(gradients_) + at,
            .copies = numbers(copies_) + at,
            .stride = layout_.padded()};
  }

  [[nodiscard]] const shard_layout& layout() const noexcept { return layout_; }  ///< size and shards
  /// The parameters, as they are after the orders so far.
  [[nodiscard]] std::span<const float> values() noexcept { return {numbers(values_), layout_.size}; }
  /// Where a worker writes its gradient; slot is 0 or 1.
  [[nodiscard]] std::span<float> gradient(std::uint32_t worker, std::uint32_t slot) noexcept {
    return {numbers(gradients_) + (worker * std::size_t{slots_of_worker} + slot) * layout_.padded(), layout_.size};
  }
  /// The parameters as they were when this worker was released last; zeros before that.
  [[nodiscard]] std::span<const float> copy(std::uint32_t worker) noexcept {
    return {numbers(copies_) + worker * layout_.padded(), layout_.size};
  }
  /// The log so far, as a ring (in_order()).
  [[nodiscard]] std::span<const log_entry> log() const noexcept { return log_; }

 private:
  using memory = std::vector<detail::quad>;
  [[nodiscard]] std::size_t quads() const noexcept { return layout_.padded() / 4; }
  [[nodiscard]] static float* numbers(memory& of) noexcept { return of.empty() ? nullptr : of.data()->x; }

  shard_layout layout_;
  memory values_, first_, second_, sum_, gradients_, copies_;
  std::vector<log_entry> log_;
};

}  // namespace rubato::inline RUBATO_ABI::cuda_ps

#endif
