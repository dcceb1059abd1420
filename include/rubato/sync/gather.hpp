#ifndef RUBATO_SYNC_GATHER_HPP
#define RUBATO_SYNC_GATHER_HPP

#include <cstddef>
#include <cstdint>
#include <optional>

#include "../core/types.hpp"
#include "../dynarray.hpp"

namespace rubato::inline RUBATO_ABI {

/// Tells when the last part of a push that was split over shards has come, and which versions its worker had read.
///
/// The parts of one (incarnation, step) belong together. A part of a newer one starts over: the orphaned parts are the
/// host's to discard. Repeated and older parts are ignored.
/// Cost    O(1) per part. (shards / 8 + 40) bytes a worker, made at construction. Not thread-safe.
/// Tests   tests/sync/gather_test.cpp: CompleteWithTheLastPart, RangeOfVersions, RepeatsDoNotCount, NewerStepStartsOver
/// Source  the question of elasticdl#1557: what is a version when shards differ?
class gather {
 public:
  /// For workers below the capacity, and pushes that have a part for each shard.
  gather(std::uint32_t capacity, std::uint32_t shards)
      : shards_{shards}, words_{(shards + 63) / 64}, pushes_(capacity), seen_(std::size_t{capacity} * words_) {}

  /// A part has arrived at `shard`, computed on that shard's `version`. The range of all versions with the last part of
  /// a push; nothing before, nor for repeats, old parts and indices out of range.
  std::optional<version_range> part(worker_id who, std::uint64_t step, std::uint32_t shard,
                                    std::uint64_t version) noexcept {
    if (who.index >= pushes_.size() || shard >= shards_) return std::nullopt;
    push& p = pushes_[who.index];
    const bool newer =
        !p.known || who.incarnation > p.incarnation || (who.incarnation == p.incarnation && step > p.step);
    std::uint64_t* seen = &seen_[std::size_t{who.index} * words_];
    if (newer) {
      p = {.known = true, .incarnation = who.incarnation, .step = step, .missing = shards_, .read = {}};
      for (std::uint32_t i = 0; i < words_; ++i) seen[i] = 0;
    }
    const std::uint64_t bit = std::uint64_t{1} << shard % 64;
    if (who.incarnation != p.incarnation || step != p.step || (seen[shard / 64] & bit) != 0) return std::nullopt;
    seen[shard / 64] |= bit;
    p.read.include(version);
    return --p.missing == 0 ? std::optional{p.read} : std::nullopt;
  }

 private:
  struct push {
    bool known = false;
    std::uint32_t incarnation = 0;
    std::uint64_t step = 0;
    std::uint32_t missing = 0;
    version_range read{};
  };

  std::uint32_t shards_;
  std::uint32_t words_;
  detail::dynarray<push> pushes_;
  detail::dynarray<std::uint64_t> seen_;  // words_ per worker, one bit per shard
};

}  // namespace rubato::inline RUBATO_ABI

#endif
