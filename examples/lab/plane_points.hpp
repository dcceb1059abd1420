#ifndef RUBATO_EXAMPLES_LAB_PLANE_POINTS_HPP
#define RUBATO_EXAMPLES_LAB_PLANE_POINTS_HPP

#include <cstddef>
#include <cstdint>
#include <rubato/sim/dataset.hpp>
#include <string_view>
#include <vector>

namespace rubato::lab {

/// Points of a square in two classes, which small networks learn the better the deeper they are. As a dataset: images
/// of two pixels, 0 to 255.
struct plane_points {
  std::vector<std::uint8_t> coordinates{};
  std::vector<std::uint8_t> labels{};

  /// Valid while the points are.
  [[nodiscard]] sim::dataset view() const noexcept { return {coordinates, labels, 2, 2}; }
};

/// So many points at random: "checkers", the black and white squares of a board of 4 x 4, or "spirals", two that wind
/// around each other. The same seed gives the same points.
/// Errors  user_error: another pattern
/// Tests   tests/examples/growth_tables_test.cpp: PointsAreOfTheirPattern
[[nodiscard]] plane_points points_of(std::string_view pattern, std::size_t count, std::uint64_t seed);

}  // namespace rubato::lab

#endif
