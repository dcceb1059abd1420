// What the trainer of integrations/libtorch adds to a loop that is written by hand and asks no controller: the same
// workers, each with a replica, train a perceptron of MNIST's size asynchronously, with one lock around one optimizer.
// Both take turns; each block is so many steps of every worker.
// usage: torch_overhead [BLOCKS [STEPS [WORKERS]]]
#include <torch/nn.h>
#include <torch/optim.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <rubato/libtorch/trainer.hpp>
#include <rubato/sync/asp.hpp>
#include <thread>
#include <vector>

namespace lt = rubato::libtorch;
using net = torch::nn::Sequential;

namespace {

constexpr std::uint32_t samples = 64;

net perceptron() { return net{torch::nn::Linear(784, 128), torch::nn::ReLU(), torch::nn::Linear(128, 10)}; }

struct data {
  torch::Tensor pixels = torch::rand({10'000, 784}), labels = torch::randint(10, {10'000}, torch::kInt64);
};
torch::Tensor loss_of(net& of, const data& all, std::uint32_t worker, std::uint64_t step) {
  const auto from = static_cast<std::int64_t>((worker * 2'500 + step * samples) % (10'000 - samples));
  return torch::cross_entropy_loss(of->forward(all.pixels.narrow(0, from, samples)),
                                   all.labels.narrow(0, from, samples));
}

double seconds_of(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double by_hand(const data& all, std::uint32_t workers, std::uint64_t steps) {
  net server = perceptron();
  const std::vector<torch::Tensor> held = server->parameters();
  torch::optim::SGD optimizer{held, torch::optim::SGDOptions(0.01)};
  std::mutex mutex;
  return seconds_of([&] {
    std::vector<std::jthread> threads;
    for (std::uint32_t w = 0; w < workers; ++w)
      threads.emplace_back([&, w] {
        net replica = perceptron();
        const std::vector<torch::Tensor> own = replica->parameters();
        for (std::uint64_t n = 0; n < steps; ++n) {
          {
            const torch::NoGradGuard no_graph;
            const std::lock_guard lock{mutex};
            for (std::size_t i = 0; i < own.size(); ++i) own[i].detach().copy_(held[i]);
          }
          const std::vector<torch::Tensor> gradient = torch::autograd::grad({loss_of(replica, all, w, n)}, own);
          const std::lock_guard lock{mutex};
          for (std::size_t i = 0; i < own.size(); ++i) held[i].mutable_grad() = gradient[i];
          optimizer.step();
        }
      });
  });
}

double by_trainer(const data& all, std::uint32_t workers, std::uint64_t steps) {
  const auto rule = lt::optimizer_rule::of<torch::optim::SGD>(torch::optim::SGDOptions(0.01));
  auto made = lt::trainer<net>::make({.sync = {.capacity = workers}, .nominal_samples = samples}, perceptron, *rule,
                                     rubato::asp{});
  return seconds_of([&] {
    (*made)->run(workers, [&](net& replica, const lt::worker_step& step) -> lt::batch_loss {
      return step.number > steps ? torch::Tensor{} : loss_of(replica, all, step.worker.index, step.number - 1);
    });
  });
}

double quantile(std::vector<double> of, double p) {
  std::sort(of.begin(), of.end());
  return of[static_cast<std::size_t>(p * static_cast<double>(of.size() - 1))];
}

}  // namespace

int main(int argc, char** argv) {
  const auto argument = [&](int nth, std::uint64_t otherwise) {
    return argc > nth ? std::strtoull(argv[nth], nullptr, 10) : otherwise;
  };
  const std::uint64_t blocks = argument(1, 30), steps = argument(2, 200);
  const auto workers = static_cast<std::uint32_t>(argument(3, 4));
  at::set_num_threads(1);
  const data all;
  by_hand(all, workers, steps), by_trainer(all, workers, steps);
  std::vector<double> hand, trainer, ratio;
  for (std::uint64_t b = 0; b < blocks; ++b) {
    const bool first = b % 2 == 0;  // who comes second may find the machine warmer
    double h = 0, t = 0;
    if (first) h = by_hand(all, workers, steps);
    t = by_trainer(all, workers, steps);
    if (!first) h = by_hand(all, workers, steps);
    hand.push_back(h), trainer.push_back(t), ratio.push_back(t / h);
  }
  const double each = 1e6 / static_cast<double>(steps * workers);
  std::printf("%u workers, %llu steps of %u samples each, %llu blocks; microseconds a step\n", workers,
              static_cast<unsigned long long>(steps), samples, static_cast<unsigned long long>(blocks));
  for (const auto& [name, of] : {std::pair{"by hand", hand}, std::pair{"trainer", trainer}})
    std::printf("%s  least %.1f  median %.1f\n", name, each * quantile(of, 0), each * quantile(of, 0.5));
  std::printf("trainer / by hand: least %.3f, median of pairs %.3f (quartiles %.3f to %.3f)\n",
              quantile(trainer, 0) / quantile(hand, 0), quantile(ratio, 0.5), quantile(ratio, 0.25),
              quantile(ratio, 0.75));
  return 0;
}
