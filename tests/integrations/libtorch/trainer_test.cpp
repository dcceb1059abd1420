#include <gtest/gtest.h>
#include <torch/nn.h>
#include <torch/optim.h>

#include <atomic>
#include <cmath>
#include <cstdint>
#include <memory>
#include <mutex>
#include <rubato/libtorch/trainer.hpp>
#include <rubato/sync/asp.hpp>
#include <rubato/sync/bsp.hpp>
#include <rubato/sync/rivals/k_sync.hpp>
#include <rubato/sync/ssp.hpp>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "../../support/thread_shortage.hpp"
#include "some_nets.hpp"

namespace libtorch_trainer_test {
namespace {

namespace lt = rubato::libtorch;
using lt::test::Net;
using lt::test::Normed;
using rubato::any_policy;
using trainer = lt::trainer<Net>;

lt::optimizer_rule sgd(double rate = 0.1) {
  return *lt::optimizer_rule::of<torch::optim::SGD>(torch::optim::SGDOptions(rate).momentum(0.5));
}
template <class Module = Net>
std::unique_ptr<lt::trainer<Module>> made(std::uint32_t workers, any_policy policy, std::uint32_t shards = 2) {
  at::set_num_threads(1);
  auto t = lt::trainer<Module>::make(
      {.sync = {.capacity = workers}, .shards = shards, .nominal_samples = 16}, [] { return Module{}; }, sgd(),
      std::move(policy));
  EXPECT_TRUE(t) << t.error().message;
  return std::move(*t);
}
// Batches of one function, the same for the same numbers.
struct batch {
  batch(std::uint32_t worker, std::uint64_t step, std::uint32_t samples) {
    auto generator = at::detail::createCPUGenerator(1000 * worker + step);
    x = torch::rand({samples, 2}, generator);
    y = (x.select(1, 0) - 2 * x.select(1, 1)).unsqueeze(1);
  }
  torch::Tensor x, y;
};
template <class Module>
torch::Tensor loss_of(Module& net, const lt::worker_step& step) {
  const batch b{step.worker.index, step.number, step.samples};
  return torch::mse_loss(net->forward(b.x), b.y);
}
auto steps(std::uint64_t count) {
  return [count](auto& net, const lt::worker_step& step) -> lt::batch_loss {
    return step.number > count ? torch::Tensor{} : loss_of(net, step);
  };
}
template <class Module>
float judged(Module net) {
  net->eval();
  const batch b{99, 0, 1000};
  return torch::mse_loss(net->forward(b.x), b.y).template item<float>();
}

TEST(Trainer, IsTheHandWrittenLoopOfOneWorker) {
  torch::manual_seed(1);
  const auto t = made(1, rubato::asp{}, 3);
  Net net = t->model();
  const auto ends = t->run(1, steps(50));
  EXPECT_EQ(ends[0].failure, "");
  EXPECT_EQ(ends[0].steps, 50u);
  torch::optim::SGD optimizer{net->parameters(), torch::optim::SGDOptions(0.1).momentum(0.5)};
  for (std::uint64_t n = 1; n <= 50; ++n) {
    optimizer.zero_grad();
    loss_of(net, {.worker = {0}, .number = n, .samples = 16}).backward();
    optimizer.step();
  }
  const Net trained = t->model();
  for (std::size_t i = 0; i < net->parameters().size(); ++i)
    EXPECT_TRUE(torch::equal(net->parameters()[i], trained->parameters()[i])) << i;
}

TEST(Trainer, ARoundIsOneStepOfTheMeanOfItsWorkers) {
  torch::manual_seed(1);
  const auto t = made(3, rubato::bsp{});
  Net net = t->model();
  for (const lt::worker_end& end : t->run(3, steps(20))) EXPECT_EQ(end.failure, "");
  torch::optim::SGD optimizer{net->parameters(), torch::optim::SGDOptions(0.1).momentum(0.5)};
  for (std::uint64_t n = 1; n <= 20; ++n) {
    optimizer.zero_grad();
    for (std::uint32_t w = 0; w < 3; ++w) (loss_of(net, {.worker = {w}, .number = n, .samples = 16}) / 3).backward();
    optimizer.step();
  }
  const Net trained = t->model();
  for (std::size_t i = 0; i < net->parameters().size(); ++i)
    EXPECT_TRUE(torch::allclose(net->parameters()[i], trained->parameters()[i], 1e-5, 1e-6)) << i;
}

TEST(Trainer, KOfNGradientsMakeAnUpdate) {
  struct watcher {
    bool all_are_here = true;
    std::uint64_t updates = 0, of_another_number = 0;
    void operator()(const rubato::record& r) noexcept {
      if (r.what == rubato::record::kind::depart) all_are_here = false;
      if (r.what != rubato::record::kind::flush || !all_are_here) return;
      ++updates;
      if (r.count != 2) ++of_another_number;
    }
  };
  at::set_num_threads(1);
  auto t = lt::trainer<Net, watcher>::make(
      {.sync = {.capacity = 3}, .nominal_samples = 16}, [] { return Net{}; }, sgd(), rubato::k_sync{.k = 2});
  ASSERT_TRUE(t) << t.error().message;
  const auto ends = (*t)->run(3, [](Net& net, const lt::worker_step& step) -> lt::batch_loss {
    if (step.number > 30) return torch::Tensor{};
    if (step.cancelled()) return lt::batch_loss::abandoned();
    return loss_of(net, step);
  });
  for (const lt::worker_end& end : ends) EXPECT_EQ(end.failure, "");
  (*t)->server().inspect([](auto&, watcher& seen) {
    EXPECT_GE(seen.updates, 10U);
    EXPECT_EQ(seen.of_another_number, 0U);
  });
}

TEST(Trainer, ACancelledStepCanEndEarly) {
  const auto t = made(2, rubato::k_sync{.k = 1});
  std::atomic<int> abandoned = 0;
  const auto ends = t->run(2, [&](Net& net, const lt::worker_step& step) -> lt::batch_loss {
    if (step.worker.index == 0) {
      if (step.number > 5) return torch::Tensor{};
      return loss_of(net, step);
    }
    if (abandoned > 0) return torch::Tensor{};
    while (!step.cancelled()) std::this_thread::yield();
    ++abandoned;
    return lt::batch_loss::abandoned();
  });
  EXPECT_EQ(ends[0].failure + ends[1].failure, "");
  EXPECT_EQ(ends[1].steps, 1U);
  EXPECT_EQ(t->server().inspect([](auto& sync) { return sync.counts().of(1, rubato::reason::cancelled); }), 1U);
  const auto alone = made(1, rubato::asp{});
  EXPECT_EQ(alone->work({0}, [](Net&, const lt::worker_step&) { return lt::batch_loss::abandoned(); }).failure,
            "a step that is not cancelled was abandoned");
}

TEST(Trainer, TrainsUnderEveryRule) {
  const std::vector<std::pair<std::string, any_policy>> rules{
      {"bsp", rubato::bsp{}}, {"asp", rubato::asp{}}, {"ssp", rubato::ssp{.staleness = 2}}};
  for (const auto& [name, rule] : rules) {
    torch::manual_seed(1);
    const auto t = made(4, rule);
    const float before = judged(t->model());
    for (const lt::worker_end& end : t->run(4, steps(200))) {
      EXPECT_EQ(end.failure, "") << name;
      EXPECT_EQ(end.steps, 200u) << name;
    }
    EXPECT_LT(judged(t->model()), 0.05F * before) << name;
  }
}

TEST(Trainer, AStepThatThrowsEndsThatWorkerAlone) {
  const auto t = made(3, rubato::bsp{});
  const auto ends = t->run(3, [](Net& net, const lt::worker_step& step) -> lt::batch_loss {
    if (step.worker.index == 1 && step.number == 5) throw std::runtime_error{"no such file"};
    if (step.worker.index == 2 && step.number == 8)
      return net->forward(torch::rand({1, 7})).sum();  // of a wrong shape: torch throws
    return steps(20)(net, step);
  });
  EXPECT_EQ(ends[0].steps, 20u);
  EXPECT_EQ(ends[0].failure, "");
  EXPECT_EQ(ends[1].steps, 4u);
  EXPECT_EQ(ends[1].failure, "no such file");
  EXPECT_EQ(ends[2].steps, 7u);
  EXPECT_EQ(ends[2].failure.find('\n'), std::string::npos) << ends[2].failure;
  EXPECT_NE(ends[2].failure.find("shapes cannot be multiplied"), std::string::npos) << ends[2].failure;
}

TEST(Trainer, AFactoryThatThrowsEndsItsWorkerAlone) {
  std::atomic<int> makes = 0;
  auto t = trainer::make(
      {.sync = {.capacity = 3}, .nominal_samples = 16},
      [&] {
        if (++makes == 3) throw std::runtime_error{"no such file"};  // the first one is of make()
        return Net{};
      },
      sgd(), rubato::bsp{});
  ASSERT_TRUE(t) << t.error().message;
  int failed = 0;
  for (const lt::worker_end& end : (*t)->run(3, steps(10))) {
    EXPECT_EQ(end.steps, end.failure.empty() ? 10U : 0U);
    if (end.failure == "no such file") ++failed;
  }
  EXPECT_EQ(failed, 1) << "and the quorum of three had been there";
  const auto none = trainer::make(
      {.sync = {.capacity = 1}}, []() -> Net { throw std::runtime_error{"no such file"}; }, sgd(), rubato::asp{});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().message, "no module could be made: no such file");
}

TEST(Trainer, WhatIsNoExceptionEndsThatWorkerToo) {
  const auto t = made(1, rubato::asp{});
  EXPECT_EQ(t->work({0}, [](Net&, const lt::worker_step&) -> lt::batch_loss { throw 1; }).failure,
            "something that is no std::exception");
  std::atomic<int> makes = 0;
  auto other = trainer::make(
      {.sync = {.capacity = 3}, .nominal_samples = 16},
      [&] {
        if (++makes == 3) throw 1;
        return Net{};
      },
      sgd(), rubato::bsp{});
  ASSERT_TRUE(other) << other.error().message;
  std::uint64_t steps_made = 0;
  for (const lt::worker_end& end : (*other)->run(3, steps(10))) steps_made += end.steps;
  EXPECT_EQ(steps_made, 20U) << "the others do not wait for it";
  const auto none = trainer::make(
      {.sync = {.capacity = 1}}, []() -> Net { throw 1; }, sgd(), rubato::asp{});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().message, "no module could be made: something that is no std::exception");
}

TEST(Trainer, AFactoryOfOneModuleIsRefused) {
  Net only;
  auto t = trainer::make(
      {.sync = {.capacity = 2}, .nominal_samples = 16}, [only] { return only; }, sgd(), rubato::asp{});
  ASSERT_TRUE(t) << t.error().message;
  for (const lt::worker_end& end : (*t)->run(2, steps(3)))
    EXPECT_EQ(end.failure, "the factory gave a module that is in use, expected a new one each time");
}

TEST(Trainer, AFactoryOfAnotherModuleIsRefused) {
  std::atomic<int> makes = 0;
  auto t = trainer::make(
      {.sync = {.capacity = 1}, .nominal_samples = 16},
      [&] {
        Net net;
        if (++makes > 1) net->register_buffer("more", torch::zeros({2}));
        return net;
      },
      sgd(), rubato::asp{});
  ASSERT_TRUE(t) << t.error().message;
  EXPECT_EQ((*t)->work({0}, steps(3)).failure, "the factory made another module than at first");
}

// An optimizer whose fifth step throws.
struct failing_sgd : torch::optim::SGD {
  using SGD::SGD;
  torch::Tensor step(LossClosure closure = nullptr) override {
    if (++steps == 5) throw std::runtime_error{"out of range"};
    return SGD::step(std::move(closure));
  }
  int steps = 0;
};

TEST(Trainer, AnOptimizerThatThrows) {
  for (const any_policy& policy : {any_policy{rubato::asp{}}, any_policy{rubato::bsp{}}}) {
    at::set_num_threads(1);
    auto t = trainer::make(
        {.sync = {.capacity = 3}, .nominal_samples = 16}, [] { return Net{}; },
        *lt::optimizer_rule::of<failing_sgd>(torch::optim::SGDOptions(0.1)), policy);
    ASSERT_TRUE(t) << t.error().message;
    int failed = 0;
    for (const lt::worker_end& end : (*t)->run(3, steps(20))) {
      if (end.failure == "out of range")
        ++failed;
      else
        EXPECT_EQ(end.failure + std::to_string(end.steps), "20") << policy.kind();
    }
    EXPECT_EQ(failed, 1) << policy.kind();
  }
}

TEST(Trainer, ALossThatIsNotFiniteIsDropped) {
  const auto t = made(1, rubato::asp{});
  const torch::Tensor before = t->model()->a->weight.clone();
  const auto end = t->work({0}, [](Net& net, const lt::worker_step& step) -> lt::batch_loss {
    return step.number > 1 ? torch::Tensor{} : net->forward(torch::ones({4, 2})).sum() + INFINITY;
  });
  EXPECT_EQ(end.failure, "");
  EXPECT_EQ(t->server().inspect([](auto& sync) { return sync.counts().of(0, rubato::reason::non_finite); }), 1U);
  EXPECT_TRUE(torch::equal(t->model()->a->weight, before)) << "the gradient was finite";
}

// A finite loss may have a gradient that is not: that of the square root is infinite at 0.
TEST(Trainer, AGradientThatIsNotFiniteIsDropped) {
  const auto t = made(1, rubato::asp{});
  const torch::Tensor before = t->model()->a->weight.clone();
  const auto end = t->work({0}, [](Net& net, const lt::worker_step& step) -> lt::batch_loss {
    return step.number > 1 ? torch::Tensor{} : (net->forward(torch::ones({4, 2})) * 0).sum().sqrt();
  });
  EXPECT_EQ(end.failure, "");
  EXPECT_EQ(end.steps, 1U);
  EXPECT_EQ(t->server().inspect([](auto& sync) { return sync.counts().of(0, rubato::reason::non_finite); }), 1U);
  EXPECT_TRUE(torch::equal(t->model()->a->weight, before));
}

TEST(Trainer, AWorkerComesBack) {
  const auto t = made(1, rubato::asp{});
  EXPECT_EQ(
      t->work({0, 0}, [](Net&, const lt::worker_step&) -> lt::batch_loss { throw std::runtime_error{"gone"}; }).failure,
      "gone");
  EXPECT_NE(t->work({0, 0}, steps(3)).failure, "") << "that life is over";
  EXPECT_EQ(t->work({0, 1}, steps(3)).steps, 3u);
}

TEST(Trainer, StopEndsEverybody) {
  const auto t = made(3, rubato::ssp{.staleness = 1});
  std::atomic<int> count = 0;
  const auto ends = t->run(3, [&](Net& net, const lt::worker_step& step) -> lt::batch_loss {
    if (++count == 30) t->stop();
    return loss_of(net, step);
  });
  for (const lt::worker_end& end : ends) EXPECT_EQ(end.failure, "");
  EXPECT_LE(count, 33);
}

TEST(Trainer, StopIsNoFailure) {
  const auto t = made(2, rubato::bsp{});
  std::jthread stops{[&] { t->stop(); }};
  EXPECT_EQ(t->work({0}, steps(3)).failure, "") << "it was waiting for a quorum, or came too late";
}

TEST(Trainer, WithoutThreadsItSaysSo) {
  const auto t = made(2, rubato::bsp{});
  rubato::test::thread_shortage shortage;
  shortage.begin();
  for (const lt::worker_end& end : t->run(2, steps(3)))
    EXPECT_EQ(end.failure.substr(0, 24), "no thread for a worker: ") << end.failure;
}

TEST(Trainer, ABatchOfAnotherSizeWeighsByItsSamples) {
  const auto t = made(1, rubato::asp{}, 1);
  Net net = t->model();
  t->run(1, [](Net& here, const lt::worker_step& step) -> lt::batch_loss {
    if (step.number > 1) return torch::Tensor{};
    EXPECT_EQ(step.samples, 16u);
    return {loss_of(here, step), 4};
  });
  torch::optim::SGD optimizer{net->parameters(), torch::optim::SGDOptions(0.1 * 4 / 16)};
  loss_of(net, {.worker = {0}, .number = 1, .samples = 16}).backward();
  optimizer.step();
  EXPECT_TRUE(torch::allclose(net->a->weight, t->model()->a->weight, 1e-6, 1e-7));
}

// Grants small batches at twice the rate.
struct half_batches {
  [[nodiscard]] rubato::decision release(const rubato::cluster_view&, const rubato::event& what) const noexcept {
    return (what.why == rubato::cause::push ? rubato::decision::submitter() : rubato::decision::all())
        .with_batch(8)
        .with_lr_scale(2);
  }
  void state(rubato::archive&) noexcept {}
  static constexpr std::string_view kind = "half_batches";
};

TEST(Trainer, GrantsOfBatchAndLearningRateAreHonoured) {
  const auto t = made(1, half_batches{}, 1);
  Net net = t->model();
  std::vector<std::uint32_t> samples;
  const auto end = t->work({0}, [&](Net& here, const lt::worker_step& step) -> lt::batch_loss {
    if (step.number > 2) return torch::Tensor{};
    samples.push_back(step.samples);
    return loss_of(here, step);
  });
  EXPECT_EQ(end.failure, "");
  EXPECT_EQ(samples, (std::vector<std::uint32_t>{8, 8}));
  torch::optim::SGD optimizer{net->parameters(), torch::optim::SGDOptions(0.1 * 2 * 8 / 16).momentum(0.5)};
  for (std::uint64_t n = 1; n <= 2; ++n) {
    optimizer.zero_grad();
    loss_of(net, {.worker = {0}, .number = n, .samples = 8}).backward();
    optimizer.step();
  }
  EXPECT_TRUE(torch::allclose(net->a->weight, t->model()->a->weight, 1e-5, 1e-6));
}

TEST(Trainer, TheModelHasTheBuffersOfTheLatestStep) {
  const auto t = made<Normed>(2, rubato::bsp{});
  std::mutex mutex;
  std::set<std::int64_t> seen;
  const auto ends = t->run(2, [&](Normed& net, const lt::worker_step& step) -> lt::batch_loss {
    if (step.number > (step.worker.index == 0 ? 10 : 30)) return torch::Tensor{};
    lt::batch_loss loss = loss_of(net, step);
    const std::lock_guard lock{mutex};
    seen.insert(net->norm->num_batches_tracked.item<std::int64_t>());
    return loss;
  });
  EXPECT_EQ(ends[0].failure + ends[1].failure, "");
  EXPECT_EQ(seen.size(), 30u) << "of the replica, not of all";
  const Normed model = t->model();
  EXPECT_EQ(model->norm->num_batches_tracked.item<std::int64_t>(), 30);
  EXPECT_NE(model->norm->running_mean.abs().sum().item<float>(), 0.0F);
}

TEST(Trainer, ABatchThatIsNotFiniteLeavesTheBuffers) {
  const auto t = made<Normed>(1, rubato::asp{});
  const auto end = t->work({0}, [](Normed& net, const lt::worker_step& step) -> lt::batch_loss {
    if (step.number > 3) return torch::Tensor{};
    const torch::Tensor x = step.number == 2 ? torch::full({4, 2}, NAN) : torch::rand({4, 2});
    return net->forward(x).sum();
  });
  EXPECT_EQ(end.failure, "");
  EXPECT_EQ(end.steps, 3U);
  const Normed model = t->model();
  EXPECT_TRUE(model->norm->running_mean.isfinite().all().item<bool>());
  EXPECT_EQ(model->norm->num_batches_tracked.item<std::int64_t>(), 2);
}

TEST(Trainer, FrozenParametersAreAlikeEverywhere) {
  std::atomic<int> makes = 0;
  auto t = trainer::make(
      {.sync = {.capacity = 2}},
      [&] {
        Net net;  // each with other values
        net->a->weight.set_requires_grad(false);
        ++makes;
        return net;
      },
      sgd(), rubato::asp{});
  ASSERT_TRUE(t) << t.error().message;
  std::mutex mutex;
  std::vector<torch::Tensor> frozen;
  (*t)->run(2, [&](Net& net, const lt::worker_step& step) -> lt::batch_loss {
    const std::lock_guard lock{mutex};
    frozen.push_back(net->a->weight.clone());
    return step.number > 3 ? torch::Tensor{} : loss_of(net, step);
  });
  EXPECT_EQ(makes, 3);
  ASSERT_EQ(frozen.size(), 8U);
  for (const torch::Tensor& each : frozen) EXPECT_TRUE(torch::equal(each, frozen[0]));
  EXPECT_TRUE(torch::equal((*t)->model()->a->weight, frozen[0]));
}

TEST(Trainer, RefusesBadOptions) {
  const auto t = trainer::make(
      {.sync = {.capacity = 2}, .shards = 0}, [] { return Net{}; }, sgd(), rubato::asp{});
  ASSERT_FALSE(t);
  EXPECT_EQ(t.error().message, "shards is 0, expected 1 to the number of parameters, 21");
}

}  // namespace
}  // namespace libtorch_trainer_test
