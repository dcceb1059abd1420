#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "small_jobs.hpp"

namespace libtorch_growth_job_test {
namespace {

using namespace libtorch_small_jobs;

template <class Member>
auto each(const lt::growth_report& report, Member member) {
  std::vector<std::remove_cvref_t<decltype(report.epochs[0].*member)>> all;
  for (const lt::growth_epoch& epoch : report.epochs) all.push_back(epoch.*member);
  return all;
}

TEST_F(GrowthJob, CountsMultiplyAdds) {
  EXPECT_EQ(lt::multiply_adds(conv_net(), images_of(1, 1).inputs), 9U * 4 * 18 + 16 + 8);
  lt::growable_sequential net = conv_net();
  ASSERT_TRUE(lt::deepen(net, 0));
  net->train();
  EXPECT_EQ(lt::multiply_adds(net, images_of(1, 2).inputs), 2U * (9 * 4 * 18 + 9 * 4 * 36 + 16 + 8));
  EXPECT_TRUE(net->is_training());
}

TEST_F(GrowthJob, StopsAtTheBudget) {
  job_type job = job_of();
  const auto report = run(job, 2.5, {});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(each(*report, &lt::growth_epoch::end),
            (std::vector{epoch_end::completed, epoch_end::completed, epoch_end::time_up}));
  EXPECT_EQ(each(*report, &lt::growth_epoch::batches), (std::vector<std::uint64_t>{8, 8, 4}));
  EXPECT_EQ(each(*report, &lt::growth_epoch::time), (std::vector<double>{1, 2, 2.5}));
  EXPECT_EQ(report->accuracy, report->epochs[1].accuracy);
  EXPECT_FALSE(report->epochs[2].accuracy);
  EXPECT_EQ(report->time_used, 2.5);
  EXPECT_EQ(*run(job, 2.5, {}), *report) << "there is no time left";
}

TEST_F(GrowthJob, Learns) {
  job_type job = job_of();
  const auto report = run(job, 20, {});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_GT(*report->accuracy, 0.85);
  EXPECT_EQ(*lt::judged(job.model(), data()), *report->accuracy);
}

TEST_F(GrowthJob, AnEpochThatNeverCompletesIsTold) {
  job_type job = job_of();
  const auto report = run(job, 0.75, {});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_FALSE(report->accuracy);
  ASSERT_EQ(report->epochs.size(), 1U);
  EXPECT_EQ(report->epochs[0].end, epoch_end::time_up);
  EXPECT_EQ(report->epochs[0].batches, 6U);
}

TEST_F(GrowthJob, GrowsWhenDevicesCome) {
  job_type job = job_of();
  const auto report = run(job, 12, {{2, allocation::up}}, lt::listed_growth{{0, 2, 1, 1}});
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_EQ(report->decisions.size(), 3U) << "one of them to do nothing";
  EXPECT_EQ(report->decisions[0], (lt::growth_decision{.time = 2, .epoch = 2, .action = 0}));
  EXPECT_EQ(report->decisions[1].action, 2U);
  EXPECT_EQ(report->decisions[1].epoch, 3U);
  EXPECT_EQ(report->decisions[2].action, 1U);
  const auto insertions = each(*report, &lt::growth_epoch::insertions);
  EXPECT_EQ((std::vector<std::uint64_t>{insertions.begin(), insertions.begin() + 6}),
            (std::vector<std::uint64_t>{0, 0, 1, 1, 2, 2}));
  EXPECT_EQ(report->changes, (std::vector{lt::growth_change{.time = 2, .change = allocation::up}}));
  EXPECT_EQ(job.smaller_models(), 1U);
  EXPECT_GT(report->epochs[2].time, 4) << "a deeper model takes longer";
  EXPECT_EQ(report->epochs.back().parameters, static_cast<std::uint64_t>(job.model()->parameter_count()));
}

TEST_F(GrowthJob, WidensWhereThatIsAnAction) {
  auto job = job_type::make(conv_net(0, true), adam(0.01));
  ASSERT_TRUE(job) << job.error().message;
  const auto report = run(*job, 60, {{2, allocation::up}}, lt::listed_growth{{2, 0, 2}});
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_EQ(report->decisions.size(), 3U);
  const auto insertions = each(*report, &lt::growth_epoch::insertions);
  EXPECT_EQ((std::vector<std::uint64_t>{insertions.begin() + 2, insertions.begin() + 5}),
            (std::vector<std::uint64_t>{0, 1, 1}));
  const auto grown = job->model()->description();
  EXPECT_TRUE(grown->layers()[0].starts_with("Conv2d(2, 16, ")) << grown->layers()[0];
  EXPECT_TRUE(grown->layers()[3].starts_with("Conv2d(16, 16, ")) << grown->layers()[3];
  EXPECT_EQ(job->model()->parameter_count(), static_cast<std::int64_t>(report->epochs.back().parameters));
  EXPECT_GT(*report->accuracy, 0.65) << "it learns on";
  job_type narrow = job_of();
  EXPECT_EQ(run(narrow, 4, {{1, allocation::up}}, lt::listed_growth{{3}}).error().message,
            "growth_job: decision 0: found action 3, expected one up to 2, which is to do nothing");
}

TEST_F(GrowthJob, RefusesBlocksThatCannotBeWidened) {
  const auto refusal = [](const lt::growable_parts& parts) {
    const auto made = job_type::make(*lt::growable_sequential::make(parts), adam(0.01));
    return made ? "none" : made.error().message;
  };
  const auto parts = [](auto between) {
    return lt::growable_parts{}
        .block("a", Linear(3, 8), {.widens = true})
        .layer("between", between)
        .layer("b", Linear(8, 2));
  };
  EXPECT_EQ(refusal(parts(Tanh())), "none");
  EXPECT_TRUE(
      refusal(parts(BatchNorm1d(8))).starts_with("growth_job: widen: block 0 (a): part \"between\" behind it is"))
      << refusal(parts(BatchNorm1d(8)));
}

TEST_F(GrowthJob, GrowingWithCalibrationKeepsTheLoss) {
  // At a learning rate of nearly nothing, so that the losses are those of the models.
  for (const bool calibrate : {true, false}) {
    auto job = job_type::make(conv_net(), adam(1e-12), {.calibrate = calibrate});
    ASSERT_TRUE(job);
    const lt::growth_data same_images = {
        .training = [](std::uint64_t, std::uint64_t n) { return n == 1 ? lt::growth_batch{} : images_of(1, 64); },
        .judging = data().judging};
    const auto report = run(*job, 2.5, {{0.5, allocation::up}}, lt::listed_growth{{0}}, same_images);
    ASSERT_TRUE(report) << report.error().message;
    const double before = report->epochs[0].loss, after = report->epochs[1].loss;
    EXPECT_EQ(report->epochs.back().insertions, 1U);
    if (calibrate)
      EXPECT_NEAR(report->epochs.back().loss, before, 1e-5);
    else
      EXPECT_GT(std::abs(report->epochs.back().loss - before), 1e-4) << after;
  }
}

TEST_F(GrowthJob, AbortsAnEpochAtAChange) {
  job_type job = job_of();
  const auto report = run(job, 4, {{1.5, allocation::up}});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->epochs[1].end, epoch_end::changed);
  EXPECT_EQ(report->epochs[1].batches, 4U);
  EXPECT_FALSE(report->epochs[1].accuracy);
  EXPECT_EQ(report->epochs[2].time, 2.5) << "the next one has all batches";
  EXPECT_EQ(report->epochs[2].learning_rate, report->epochs[1].learning_rate);
  EXPECT_EQ(report->changes[0].time, 1.5);
}

TEST_F(GrowthJob, ShrinksWithDistillation) {
  job_type job = job_of();
  const auto report = run(job, 20, {{2, allocation::up}, {8, allocation::down}}, lt::listed_growth{{0, 1}});
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_EQ(report->changes.size(), 2U);
  ASSERT_TRUE(report->changes[1].accuracy) << "judged at once";
  EXPECT_EQ(report->epochs.back().insertions, 0U);
  EXPECT_EQ(job.smaller_models(), 0U);
  std::vector<double> lambdas;
  for (const lt::growth_epoch& epoch : report->epochs)
    if (epoch.time > 9 && epoch.end == epoch_end::completed) lambdas.push_back(epoch.lambda);
  ASSERT_GT(lambdas.size(), 5U);
  for (std::size_t n = 0; n < lambdas.size(); ++n) EXPECT_EQ(lambdas[n], n < 4 ? lt::fading_lambda(n) : 0) << n;
  EXPECT_GT(*report->accuracy, 0.8);
  const auto took = [&](double lambda) {
    const auto at = std::ranges::find_if(report->epochs,
                                         [&](const auto& e) { return e.lambda == lambda && e.time > 9 && e.accuracy; });
    return at->time - (at - 1)->time;
  };
  const double teacher = 9 * 4 * 18 + 9 * 4 * 36 + 16 + 16 + 8;
  EXPECT_NEAR(took(lt::fading_lambda(1)), 1 + teacher * 16 * batches / work_of_an_epoch, 1e-9);
  EXPECT_NEAR(took(0), 1, 1e-9) << "nobody teaches any more";
}

TEST_F(GrowthJob, TeachingLeavesTheTeacherAsItIs) {
  std::optional<lt::growable_sequential> teacher, before;
  job_type* of = nullptr;
  job_type job = job_of({.watch = [&](const lt::growth_epoch& epoch) {
    if (epoch.insertions > 0) teacher = of->model(), before = teacher->copy();
  }});
  of = &job;
  const auto report = run(job, 12, {{1, allocation::up}, {9, allocation::down}}, lt::listed_growth{{0}});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_GT(report->epochs.back().lambda, 0) << "it still teaches";
  EXPECT_EQ(report->epochs.back().insertions, 0U);
  ASSERT_TRUE(teacher);
  EXPECT_TRUE(same(*teacher, *before));
}

TEST_F(GrowthJob, TrainsAModelThatWasInEvaluationMode) {
  lt::growable_sequential net = conv_net();
  net->eval();
  auto job = job_type::make(net, adam(0.01));
  ASSERT_TRUE(job) << job.error().message;
  job_type other = job_of();
  const auto report = run(*job, 2, {}), expected = run(other, 2, {});
  ASSERT_TRUE(report && expected);
  EXPECT_EQ(*report, *expected);
}

TEST_F(GrowthJob, TheSmallerModelHasTheLargersFirstLayers) {
  job_type job = job_of();
  std::optional<lt::growable_sequential> larger;
  std::vector<allocation> changes{allocation::up};
  changes.resize(3 * batches, allocation::same);
  changes.push_back(allocation::down);
  short_scheduler scheduler{changes};
  const lt::growable_sequential before = job.model().copy();
  const auto decide = [&](const lt::growth_question& asked) -> rubato::result<std::size_t> {
    larger = job.model();  // the same module
    return asked.number < 2 ? asked.number : asked.model.blocks().size();
  };
  const auto report = job.run(scheduler, decide, data());
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_TRUE(larger);
  EXPECT_EQ(job.model()->parameter_count(), before->parameter_count());
  EXPECT_GT((*larger)->parameter_count(), before->parameter_count());
  const auto of = lt::detail::named_state(**larger);
  for (const auto& [name, tensor] : lt::detail::named_state(*job.model()))
    EXPECT_TRUE(tensor.equal(of.at(name))) << name;
  EXPECT_FALSE(same(job.model(), before));
  EXPECT_EQ(report->accuracy, report->changes.back().accuracy) << "no epoch was completed since";
}

TEST_F(GrowthJob, TheSmallerModelOfAWidenedOneHasItsOwn) {
  auto job = job_type::make(conv_net(0, true), adam(0.01), {.decisions = 1});
  ASSERT_TRUE(job);
  std::vector<allocation> changes{allocation::up};
  changes.resize(3 * batches, allocation::same);
  changes.push_back(allocation::down);
  short_scheduler scheduler{changes};
  const lt::growable_sequential before = job->model().copy();
  const auto report = job->run(scheduler, lt::listed_growth{{2}}, data());
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->decisions.at(0).action, 2U);
  EXPECT_TRUE(same(job->model(), before)) << "what it was when devices came";
  EXPECT_EQ(report->accuracy, report->changes.back().accuracy);
}

TEST_F(GrowthJob, ShrinksToTheModelRememberedLast) {
  job_type job = job_of({.decisions = 1, .distillation = 0});
  const auto report =
      run(job, 30, {{1, allocation::up}, {5, allocation::up}, {15, allocation::down}, {20, allocation::down}},
          lt::listed_growth{{1, 1}});
  ASSERT_TRUE(report) << report.error().message;
  std::vector<std::uint64_t> insertions;
  for (const lt::growth_epoch& epoch : report->epochs) {
    EXPECT_EQ(epoch.lambda, 0);
    if (insertions.empty() || insertions.back() != epoch.insertions) insertions.push_back(epoch.insertions);
  }
  EXPECT_EQ(insertions, (std::vector<std::uint64_t>{0, 1, 2, 1, 0}));
}

TEST_F(GrowthJob, DownWithoutASmallerModelChangesNothing) {
  job_type job = job_of(), other = job_of();
  const auto report = run(job, 3, {{1, allocation::down}}), unchanged = run(other, 3, {});
  ASSERT_TRUE(report && unchanged);
  EXPECT_EQ(report->epochs, unchanged->epochs);
  EXPECT_TRUE(same(job.model(), other.model()));
  EXPECT_EQ(report->changes, (std::vector{lt::growth_change{.time = 1, .change = allocation::down}}));
}

TEST_F(GrowthJob, NobodyIsAskedAfterDown) {
  job_type job = job_of();
  const auto report = run(job, 12, {{1, allocation::up}, {1.5, allocation::down}, {8, allocation::up}},
                          lt::listed_growth{{1, 1, 1, 1}});
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_EQ(report->decisions.size(), 4U);
  EXPECT_LT(report->decisions[0].time, 1.5);
  EXPECT_GE(report->decisions[1].time, 8);
}

TEST_F(GrowthJob, TheLearningRateFallsAndIsSetBack) {
  job_type job = job_of({.decisions = 1, .least_rate = 0.0085});
  const auto report = run(job, 8, {{3, allocation::up}}, lt::listed_growth{{1}});
  ASSERT_TRUE(report) << report.error().message;
  const auto rates = each(*report, &lt::growth_epoch::learning_rate);
  EXPECT_EQ((std::vector<double>{rates.begin(), rates.begin() + 5}),
            (std::vector<double>{0.01, 0.01 * 0.9, 0.0085, 0.01, 0.01 * 0.9}));
}

TEST_F(GrowthJob, TheLearningRateCanFallByTime) {
  job_type job = job_of({.last_rate = 0.0001});
  const auto report = run(job, 8, {{2, allocation::up}}, lt::listed_growth{{0, 2, 2}});
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_GE(report->epochs.size(), 4U);
  double begin = 0;
  for (const lt::growth_epoch& epoch : report->epochs) {
    EXPECT_NEAR(epoch.learning_rate, 0.01 * std::pow(0.01, begin / 8), 1e-12) << epoch.number;
    begin = epoch.time;
  }
  EXPECT_EQ(report->epochs[2].insertions, 1U) << "growing sets nothing back";
}

TEST_F(GrowthJob, ACarriedOptimizerKeepsItsRate) {
  job_type job = job_of({.decisions = 1, .optimizer = lt::optimizer_state::carried});
  const auto report = run(job, 4, {{1, allocation::up}}, lt::listed_growth{{1}});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->epochs[1].insertions, 1U);
  EXPECT_EQ(report->epochs[1].learning_rate, 0.01 * 0.9);
  job_type reset = job_of({.decisions = 1});
  ASSERT_TRUE(run(reset, 4, {{1, allocation::up}}, lt::listed_growth{{1}}));
  EXPECT_NE(report->epochs[1].loss, reset.report().epochs[1].loss);
}

TEST_F(GrowthJob, TellsEachEpoch) {
  std::vector<lt::growth_epoch> told;
  job_type job = job_of({.watch = [&](const lt::growth_epoch& epoch) { told.push_back(epoch); }});
  const auto report = run(job, 2.5, {});
  ASSERT_TRUE(report);
  EXPECT_EQ(told, report->epochs);
}

TEST_F(GrowthJob, RefusesActionsThatThereAreNot) {
  job_type job = job_of();
  const auto report = run(job, 4, {{1, allocation::up}}, lt::listed_growth{{1, 3}});
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, errc::invalid_option);
  EXPECT_EQ(report.error().message,
            "growth_job: decision 1: found action 3, expected one up to 2, which is to do nothing");
  EXPECT_EQ(job.report().decisions.size(), 1U);
  job_type other = job_of();
  const auto refused = run(other, 4, {{1, allocation::up}}, [](const lt::growth_question&) {
    return rubato::result<std::size_t>{rubato::error{errc::io, "nobody is there"}};
  });
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::io);
  EXPECT_EQ(refused.error().message, "growth_job: nobody is there");
}

TEST_F(GrowthJob, RefusesImpossibleOptions) {
  const auto refusal = [](lt::growth_job_options options, double rate = 0.01) -> std::string {
    const auto made = job_type::make(conv_net(), adam(rate), std::move(options));
    return made ? "" : made.error().message;
  };
  EXPECT_EQ(refusal({}), "");
  EXPECT_EQ(refusal({.rate_factor = 0}), "growth_job: found a rate_factor of 0.000000, expected one above 0");
  EXPECT_EQ(refusal({.least_rate = -1}), "growth_job: found a least_rate of -1.000000, expected 0 or more");
  EXPECT_EQ(refusal({.widening = {.noise = std::numeric_limits<double>::quiet_NaN()}}),
            "growth_job: found widening with a noise of nan, expected 0 or more");
  EXPECT_EQ(refusal({.last_rate = 0}), "growth_job: found a last_rate of 0.000000, expected one above 0");
  EXPECT_EQ(refusal({.teaching = {.lambda = 2}}),
            "growth_job: found teaching at a temperature of 2.000000 with a lambda of 2.000000, expected one above 0 "
            "and one from 0 to 1");
  EXPECT_EQ(refusal({}, -1), "growth_job: Invalid learning rate: -1");
}

TEST_F(GrowthJob, RefusesData) {
  const auto refusal = [](const lt::growth_data& on) {
    job_type job = job_of();
    const auto report = run(job, 2, {}, lt::never_grow{}, on);
    return report ? std::string{} : report.error().message;
  };
  lt::growth_data on = data();
  on.training = [](std::uint64_t, std::uint64_t) { return lt::growth_batch{}; };
  EXPECT_EQ(refusal(on), "growth_job: epoch 0: found no batch, expected at least 1");
  on = data();
  on.judging = [](std::uint64_t) { return lt::growth_batch{}; };
  EXPECT_EQ(refusal(on), "growth_job: found no sample to judge by, expected at least 1");
  on = data();
  on.training = [](std::uint64_t epoch, std::uint64_t n) {
    lt::growth_batch batch = data().training(epoch, n);
    if (n == 2) batch.inputs.fill_(std::numeric_limits<float>::infinity());
    return batch;
  };
  EXPECT_EQ(refusal(on), "growth_job: epoch 0, batch 2: found a loss that is not finite, expected a finite one");
  on.training = [](std::uint64_t, std::uint64_t) { return lt::growth_batch{torch::zeros({4, 5}), torch::zeros({4})}; };
  EXPECT_NE(refusal(on).find("growth_job: "), std::string::npos);
}

adapt::growable_model of_two_blocks() { return *conv_net()->description(); }

TEST_F(GrowthJob, DecidersAnswerByTheQuestion) {
  const auto model = of_two_blocks();
  const auto ask = [&](const auto& decider, std::uint64_t number) {
    return *decider(lt::growth_question{.model = model, .time_left = 1, .budget = 2, .number = number});
  };
  EXPECT_EQ(ask(lt::never_grow{}, 0), 2U);
  EXPECT_EQ(ask(lt::listed_growth{{1, 0}}, 1), 0U);
  EXPECT_EQ(ask(lt::listed_growth{{1, 0}}, 2), 2U);
  std::vector<int> counts(3);
  for (std::uint64_t n = 0; n < 300; ++n) {
    EXPECT_EQ(ask(lt::random_growth{5}, n), ask(lt::random_growth{5}, n));
    ++counts.at(ask(lt::random_growth{5}, n));
  }
  for (const int count : counts) EXPECT_NEAR(count, 100, 30);
}

TEST_F(GrowthJob, AgentsDecide) {
  auto network = adapt::growth_network::make({.vocabulary = 2, .actions = 3});
  ASSERT_TRUE(network) << network.error().message;
  auto words = adapt::layer_vocabulary::make({{"ReLU()", 0}}, 2, 1);  // all others alike
  ASSERT_TRUE(words) << words.error().message;
  rubato::random_sequence random{1};
  adapt::draw_embeddings(*network, random);
  adapt::initialise(*network, random);
  const lt::growth_by_agent<> decider{{*network, *words}};
  const auto advice = decider.agent.advise(of_two_blocks(), 3, 4);
  ASSERT_TRUE(advice) << advice.error().message;
  job_type job = job_of();
  const auto report = run(job, 4, {{1, allocation::up}}, decider);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->decisions[0].action, advice->action);

  auto of_others = adapt::growth_network::make({.vocabulary = 2, .actions = 5});
  job_type refused = job_of();
  const auto wrong = run(refused, 4, {{1, allocation::up}}, lt::growth_by_agent<>{{*of_others, *words}});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().message.rfind("growth_job: growth_agent: found a model of 3 actions", 0), 0U)
      << wrong.error().message;
}

}  // namespace
}  // namespace libtorch_growth_job_test
