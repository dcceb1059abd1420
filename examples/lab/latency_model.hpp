#ifndef RUBATO_EXAMPLES_LAB_LATENCY_MODEL_HPP
#define RUBATO_EXAMPLES_LAB_LATENCY_MODEL_HPP

#include <array>
#include <cstdint>

namespace rubato::lab {

/// What the authors of Sync-Switch measured with network latency injected into some of eight workers throughout.
struct logged_latency {
  double delay = 0;           ///< milliseconds
  std::uint32_t workers = 0;  ///< that have it
  double synchronous = 0;     ///< time of the training, seconds
  double asynchronous = 0;    ///< the same
};

/// Without latency: 10,152 s of BSP; 1,807 s of 34,000 asynchronous steps.
inline constexpr logged_latency logged_without_latency{0, 0, 10'152, 1'807};
/// In the order of their slowdown; asynchronous trainings have 40,000 steps.
inline constexpr std::array<logged_latency, 4> logged_latencies{
    {{10, 1, 10'766, 2'215}, {10, 2, 12'094, 2'316}, {30, 1, 14'379, 2'537}, {30, 2, 27'914, 3'094}}};

/// How much longer a synchronous round takes than one without latency, in such rounds; what was logged.
[[nodiscard]] constexpr double logged_excess(const logged_latency& of) noexcept {
  return of.synchronous / logged_without_latency.synchronous - 1;
}
/// How much longer an asynchronous step takes, as a factor; what was logged.
[[nodiscard]] constexpr double logged_asynchronous_slowdown(const logged_latency& of) noexcept {
  return of.asynchronous / 40'000 / (logged_without_latency.asynchronous / 34'000);
}

/// That excess as a law: scale x (delay / 10 ms x workers) ^ exponent.
struct latency_model {
  double scale = 0;
  double exponent = 0;
  [[nodiscard]] double excess(double delay, std::uint32_t workers) const noexcept;
};

/// By least squares of the logarithms.
///
/// Pre     each slows its training down, and not all have the same delay x workers
/// Tests   tests/examples/latency_model_test.cpp: FitsTheLogs, ComesThroughWhatFollowsTheLaw
[[nodiscard]] latency_model fit_latency(const std::array<logged_latency, 4>& = logged_latencies) noexcept;

}  // namespace rubato::lab

#endif
