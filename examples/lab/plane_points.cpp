#include "plane_points.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <rubato/core/rng.hpp>
#include <string>

#include "support/user_error.hpp"

namespace rubato::lab {
namespace {

struct point {
  double x = 0, y = 0;
  std::uint8_t label = 0;
};

[[nodiscard]] point of_checkers(random_sequence& random) {
  const double x = random.uniform(), y = random.uniform();
  return {x, y, static_cast<std::uint8_t>((static_cast<int>(4 * x) + static_cast<int>(4 * y)) % 2)};
}
// One and a half turns from the middle, as dense everywhere; a hundredth of the square wide.
[[nodiscard]] point of_spirals(random_sequence& random) {
  const auto arm = static_cast<std::uint8_t>(random.below(2));
  const double along = std::sqrt(random.uniform()), angle = std::numbers::pi * (3 * along + arm);
  const double x = 0.5 + 0.48 * along * std::cos(angle), y = 0.5 + 0.48 * along * std::sin(angle);
  return {x + 0.01 * random.normal(), y + 0.01 * random.normal(), arm};
}

[[nodiscard]] std::uint8_t pixel(double share) {
  return static_cast<std::uint8_t>(std::lround(255 * std::clamp(share, 0.0, 1.0)));
}

}  // namespace

plane_points points_of(std::string_view pattern, std::size_t count, std::uint64_t seed) {
  if (pattern != "checkers" && pattern != "spirals")
    throw support::user_error{"pattern \"" + std::string{pattern} + "\": expected checkers or spirals"};
  random_sequence random{seed};
  plane_points made;
  for (std::size_t n = 0; n < count; ++n) {
    const point each = pattern == "checkers" ? of_checkers(random) : of_spirals(random);
    made.coordinates.push_back(pixel(each.x));
    made.coordinates.push_back(pixel(each.y));
    made.labels.push_back(each.label);
  }
  return made;
}

}  // namespace rubato::lab
