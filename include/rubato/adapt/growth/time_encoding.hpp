#ifndef RUBATO_ADAPT_GROWTH_TIME_ENCODING_HPP
#define RUBATO_ADAPT_GROWTH_TIME_ENCODING_HPP

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <string_view>

#include "../../config.hpp"
#include "../../pinned.hpp"

namespace rubato::inline RUBATO_ABI::adapt {

/// How the time that is left becomes numbers.
enum class time_encoding : std::uint8_t {
  /// 5 sin(2 pi i x), i = 1 to 8, for the share x of the budget: as published. All are 0 at the start and at the end.
  sines,
  /// 5 cos(pi i x): start and end, and all between, are told apart.
  cosines
};

/// The encoding as a word.
[[nodiscard]] constexpr std::string_view name(time_encoding how) noexcept {
  return how == time_encoding::sines ? "sines" : "cosines";
}

/// Numbers of an encoded time.
inline constexpr std::size_t time_codes = 8;

/// The time that is left of a budget. A time beyond 0 to `budget` is taken as the nearest that is not.
/// Precondition: budget is above 0, both are finite.
/// Tests   tests/adapt/growth/time_encoding_test.cpp: SinesAsPublished, SinesTakeTheStartForTheEnd,
///         CosinesTellAllTimesApart, TimesBeyondTheBudgetAreItsEnds
/// Source  sines: report on growing networks with spare GPUs, section 5.4 (docs/growth.md)
[[nodiscard]] inline std::array<float, time_codes> encoded_time(double left, double budget,
                                                                time_encoding how) noexcept {
  RUBATO_ASSERT(budget > 0 && pinned::is_finite(budget) && pinned::is_finite(left), "encoded_time: impossible times");
  const double share = left <= 0 ? 0.0 : left >= budget ? 1.0 : left / budget;
  std::array<float, time_codes> codes;
  for (std::size_t i = 0; i < time_codes; ++i) {
    const double turn = std::numbers::pi * static_cast<double>(i + 1) * share;
    codes[i] = static_cast<float>(5 * (how == time_encoding::sines ? std::sin(2 * turn) : std::cos(turn)));
  }
  return codes;
}

}  // namespace rubato::inline RUBATO_ABI::adapt

#endif
