#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "small_jobs.hpp"

namespace libtorch_growth_job_resume_test {
namespace {

using namespace libtorch_small_jobs;

class Resuming : public GrowthJob {
 protected:
  const script changes{{1, allocation::up}, {6.5, allocation::down}, {11, allocation::up}};
  static constexpr double budget = 14;
  [[nodiscard]] lt::growth_job_options options(lt::optimizer_state what = lt::optimizer_state::reset) const {
    return {.decisions = 2, .optimizer = what, .checkpoint = at("job.pt")};
  }

  // Killed in each of its epochs, wherever the model is then.
  template <class Decider>
  void expect_the_same(lt::optimizer_state what, const Decider& decider, bool widens = false) {
    const auto new_job = [&](lt::growth_job_options of) {
      return std::move(*job_type::make(conv_net(0.1, widens), adam(0.01), std::move(of)));
    };
    job_type whole = new_job({.decisions = 2, .optimizer = what});
    const auto expected = run(whole, budget, changes, decider);
    ASSERT_TRUE(expected) << expected.error().message;
    ASSERT_EQ(expected->changes.size(), 3U);
    std::uint64_t wide = 0;
    std::uint64_t grown = 0, distilling = 0;
    for (std::uint64_t killed = 1; killed < expected->epochs.size(); ++killed) {
      std::filesystem::remove(at("job.pt"));
      job_type first = new_job(options(what));
      lt::growth_data mortal = data();
      mortal.training = [&](std::uint64_t epoch, std::uint64_t n) {
        if (epoch == killed && n == 3) throw std::runtime_error{"killed"};
        return data().training(epoch, n);
      };
      const auto died = run(first, budget, changes, decider, mortal);
      if (died) continue;  // an epoch that was over before
      ASSERT_EQ(died.error().message, "growth_job: killed");

      torch::manual_seed(99);
      auto again = job_type::resume(at("job.pt"), conv_net(0.1, widens), adam(0.01), options(what));
      ASSERT_TRUE(again) << again.error().message;
      ASSERT_LE(again->report().epochs.size(), killed);
      if (again->report().epochs.back().lambda > 0) ++distilling;
      if (again->report().epochs.back().insertions > 0) ++grown;
      if (again->model()->parts()[0].weighted().outputs() > 4) ++wide;
      const script rest{changes.begin() + static_cast<std::ptrdiff_t>(again->changes()), changes.end()};
      const auto report = run(*again, budget, rest, decider);
      ASSERT_TRUE(report) << report.error().message;
      EXPECT_EQ(*report, *expected) << "killed in epoch " << killed;
      EXPECT_TRUE(same(again->model(), whole.model())) << "killed in epoch " << killed;
      EXPECT_EQ(again->smaller_models(), whole.smaller_models());
    }
    EXPECT_GT(grown + wide, 0U) << "some of them when it had grown";
    EXPECT_GT(distilling, 0U) << "some of them while a larger model teaches";
    EXPECT_EQ(wide > 0, widens) << "some of them when it was wide";
  }
};

TEST_F(Resuming, ResumeGoesOnAsIfNothingHadHappened) {
  expect_the_same(lt::optimizer_state::reset, lt::random_growth{3});
}
TEST_F(Resuming, ResumesWithACarriedOptimizer) { expect_the_same(lt::optimizer_state::carried, lt::random_growth{3}); }
TEST_F(Resuming, ResumesWhatWasWidened) {
  expect_the_same(lt::optimizer_state::carried, lt::listed_growth{{2, 0, 2}}, true);
  const auto narrow = job_type::resume(at("job.pt"), conv_net(0.1), adam(0.01));
  ASSERT_FALSE(narrow) << "actions would have other numbers";
  EXPECT_EQ(narrow.error().code, errc::wrong_kind);
}

TEST_F(Resuming, OtherOptimizersOfTorch) {
  using sgd_job = lt::growth_job<torch::optim::SGD, torch::optim::SGDOptions>;
  const auto sgd = torch::optim::SGDOptions(0.1).momentum(0.9);
  auto job = sgd_job::make(conv_net(), sgd, options());
  ASSERT_TRUE(job) << job.error().message;
  short_scheduler scheduler{std::vector<allocation>(20, allocation::same)};
  ASSERT_TRUE(job->run(scheduler, lt::never_grow{}, data()));
  EXPECT_TRUE(sgd_job::resume(at("job.pt"), conv_net(), sgd));
  const auto other = job_type::resume(at("job.pt"), conv_net(), adam(0.01));
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, errc::wrong_kind) << other.error().message;
}

TEST_F(Resuming, RefusesWhatIsNoCheckpoint) {
  const auto none = job_type::resume(at("job.pt"), conv_net(), adam(0.01));
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, errc::io);
  ASSERT_TRUE(lt::save_growable(at("net.pt"), conv_net()));
  const auto model = job_type::resume(at("net.pt"), conv_net(), adam(0.01));
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().code, errc::wrong_kind);
  EXPECT_EQ(model.error().message, at("net.pt") + ": found no job that grows a model, expected a file of growth_job");
  ASSERT_TRUE(job_of().save(at("job.pt")));
  const auto other = job_type::resume(
      at("job.pt"), *lt::growable_sequential::make(lt::growable_parts{}.block("a", Linear(2, 2))), adam(0.01));
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, errc::wrong_kind);
  const auto size = std::filesystem::file_size(at("job.pt"));
  std::filesystem::resize_file(at("job.pt"), size / 2);
  const auto half = job_type::resume(at("job.pt"), conv_net(), adam(0.01));
  ASSERT_FALSE(half);
  EXPECT_EQ(half.error().code, errc::corrupt);
}

TEST_F(Resuming, ACheckpointThatCannotBeWrittenIsTold) {
  job_type job = job_of({.checkpoint = at("nowhere") + "/job.pt"});
  const auto report = run(job, 2, {});
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, errc::io);
}

}  // namespace
}  // namespace libtorch_growth_job_resume_test
