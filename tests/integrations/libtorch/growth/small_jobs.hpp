#ifndef RUBATO_TESTS_INTEGRATIONS_LIBTORCH_GROWTH_SMALL_JOBS_HPP
#define RUBATO_TESTS_INTEGRATIONS_LIBTORCH_GROWTH_SMALL_JOBS_HPP

#include <gtest/gtest.h>
#include <torch/nn.h>
#include <torch/optim.h>

#include <cstddef>
#include <cstdint>
#include <rubato/core/rng.hpp>
#include <rubato/libtorch/growth/growth_job.hpp>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "../../../support/folder_test.hpp"

namespace libtorch_small_jobs {

namespace lt = rubato::libtorch;
namespace adapt = rubato::adapt;
using namespace torch::nn;
using adapt::allocation;
using lt::epoch_end;
using rubato::errc;
using script = std::vector<adapt::scheduled_change>;
using adam = torch::optim::AdamOptions;
using job_type = lt::growth_job<>;

class GrowthJob : public rubato::test::folder_test {};

// Images of two colours, which of them is brighter is the class; with all that makes a job depend on torch's generator.
inline lt::growable_sequential conv_net(double dropout = 0, bool widens = false) {
  torch::manual_seed(7);
  return *lt::growable_sequential::make(
      lt::growable_parts{}
          .block("conv1", Conv2d(Conv2dOptions(2, 4, 3)), BatchNorm2d(4), {.widens = widens})
          .layer("drop", Dropout(dropout), "Dropout(p=" + std::to_string(dropout) + ", inplace=False)")
          .layer("flat", AdaptiveAvgPool2d(AdaptiveAvgPool2dOptions({1, 1})))
          .flatten()
          .block("hidden", Linear(4, 4))
          .layer("scores", Linear(4, 2)));
}
inline lt::growth_batch images_of(std::uint64_t seed, std::int64_t samples) {
  rubato::random_sequence random{seed};
  torch::Tensor x = torch::empty({samples, 2, 5, 5});
  for (std::int64_t i = 0; i < x.numel(); ++i) x.data_ptr<float>()[i] = static_cast<float>(random.normal());
  torch::Tensor labels = x.mean({2, 3}).argmax(1);
  return {x, labels};
}
inline constexpr std::uint64_t batches = 8;
inline lt::growth_data data() {
  return {.training = [](std::uint64_t epoch, std::uint64_t n) -> lt::growth_batch {
            if (n == batches) return {};
            return images_of(1000 * epoch + n, 16);
          },
          .judging = [](std::uint64_t n) -> lt::growth_batch {
            if (n == 2) return {};
            return images_of(~n, 100);
          }};
}
// Of conv_net(): 3 x 3 places, 4 channels of 2 x 3 x 3; 4 x 4; 2 x 4. Thrice, for 16 samples and 8 batches.
inline constexpr double work_of_an_epoch = 3.0 * (9 * 4 * 18 + 16 + 8) * 16 * batches;

// In epochs of the model that has not grown.
inline auto clock_of(const job_type& job) {
  return [&job] { return static_cast<double>(job.work()) / work_of_an_epoch; };
}
template <class Decider = lt::never_grow>
rubato::result<lt::growth_report> run(job_type& job, double budget, const script& changes, Decider decider = {},
                                      const lt::growth_data& on = data()) {
  const auto clock = clock_of(job);
  auto scheduler = adapt::scripted_scheduler<std::remove_const_t<decltype(clock)>>::make(budget, changes, clock);
  return job.run(*scheduler, decider, on);
}
inline job_type job_of(lt::growth_job_options options = {}, double dropout = 0) {
  auto made = job_type::make(conv_net(dropout), adam(0.01), std::move(options));
  EXPECT_TRUE(made) << made.error().message;
  return std::move(*made);
}
inline bool same(const lt::growable_sequential& a, const lt::growable_sequential& b) {
  const auto of = lt::detail::named_state(*a), other = lt::detail::named_state(*b);
  if (of.size() != other.size()) return false;
  for (const auto& [name, tensor] : of)
    if (!other.contains(name) || !tensor.equal(other.at(name))) return false;
  return true;
}

// Time is up when it has told its changes.
struct short_scheduler {
  std::vector<allocation> changes;
  std::size_t asked = 0;
  [[nodiscard]] double time_left() const { return asked < changes.size() ? 1 : 0; }
  [[nodiscard]] double time_budget() const { return 10; }
  allocation change() { return changes[asked++]; }
};

}  // namespace libtorch_small_jobs

#endif
