#ifndef RUBATO_CORE_ADMISSION_HPP
#define RUBATO_CORE_ADMISSION_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "reason.hpp"
#include "types.hpp"

namespace rubato::inline RUBATO_ABI {

/// What is to be done with a gradient.
enum class verdict : std::uint8_t {
  apply,       ///< parameters move by `weight` x the gradient at once
  accumulate,  ///< `weight` x the gradient joins the open round
  drop,        ///< nothing; the step counts
  repeated,    ///< nothing: seen before; commit hands over the new ticket
  refused      ///< nothing: the call is void; commit hands the ticket to `abandon`
};

/// The verdict as it appears in logs.
[[nodiscard]] constexpr std::string_view name(verdict decided) noexcept {
  constexpr std::array<std::string_view, 5> names{"apply", "accumulate", "drop", "repeated", "refused"};
  return static_cast<std::size_t>(decided) < names.size() ? names[static_cast<std::size_t>(decided)] : "invalid";
}

/// A policy's verdict on one gradient.
struct admission {
  verdict what = verdict::apply;  ///< to be done with the gradient
  bool completes = false;         ///< accumulate: no further gradient joins this round
  float weight = 1.0F;            ///< factor on the gradient; applied_weight() completes it
  float scale = 1.0F;             ///< if `completes`: factor on the mean of the round
  reason why = reason::none;      ///< drop, refused: why

  /// The parameters move by weight x the gradient at once.
  [[nodiscard]] static constexpr admission apply(float weight = 1.0F) noexcept { return {.weight = weight}; }
  [[nodiscard]] static constexpr admission accumulate(float weight = 1.0F) noexcept {
    return {.what = verdict::accumulate, .weight = weight};
  }  ///< weight x the gradient joins the open round
  [[nodiscard]] static constexpr admission accumulate_and_flush(float weight = 1.0F, float scale = 1.0F) noexcept {
    return {.what = verdict::accumulate, .completes = true, .weight = weight, .scale = scale};
  }  ///< the same, and completes the round, to be flushed with scale x its mean once all of it is in
  /// The gradient is not used, for one of the reasons from `stale` to `unwanted`; the step counts.
  [[nodiscard]] static constexpr admission drop(reason why) noexcept { return {.what = verdict::drop, .why = why}; }
};

/// Names one admitted gradient until its commit. Opaque to hosts, trivially copyable.
struct token {
  worker_id worker{};               ///< whose gradient it is
  std::uint64_t serial = 0;         ///< 0: refused or repeated, nothing is outstanding
  verdict what = verdict::refused;  ///< as the host was told
  reason why = reason::none;        ///< dropped, repeated, refused: why
};

/// The answer to admit(): what the host does with the gradient, and the token it then commits.
struct admitted {
  token work{};                 ///< for its commit
  admission what{};             ///< the verdict, with its weight
  std::uint64_t round = 0;      ///< accumulate: the round whose accumulator takes the gradient
  std::uint64_t staleness = 0;  ///< updates decided since the version the worker read
};

}  // namespace rubato::inline RUBATO_ABI

#endif
