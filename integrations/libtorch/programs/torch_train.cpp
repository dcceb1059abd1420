// Trains a network on MNIST or CIFAR-10 with workers that are threads, under one policy after the other, and prints how
// long each took to an accuracy. Status 0: done; 1: it could not be, and a sentence says why; 2: wrong options.
#include <torch/nn.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <future>
#include <limits>
#include <memory>
#include <optional>
#include <rubato/io/atomic_file.hpp>
#include <rubato/io/chrome_trace.hpp>
#include <rubato/io/decision_log.hpp>
#include <rubato/libtorch/state_file.hpp>
#include <rubato/libtorch/trainer.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "images.hpp"
#include "nets.hpp"
#include "optimizers.hpp"
#include "support/policy_names.hpp"
#include "support/statistics.hpp"

namespace lt = rubato::libtorch;
using rubato::support::policy_named;
using rubato::support::policy_names;

namespace {

struct options {
  std::string data, optimizer = "sgd", log, trace, save;
  std::vector<std::string> policies{"bsp", "asp", "ssp:3", "knee", "learned"};
  std::uint32_t workers = 4, shards = 2, samples = 64, seeds = 1;
  std::uint64_t seed = 1, steps = 0;
  bool decay = false;
  double seconds = 30, target = 0.97, look = 0.5, rate = 0.05, momentum = 0, straggle = 0, straggle_for = 100;
};

struct watcher {
  std::optional<rubato::decision_log<rubato::atomic_file>> log{};
  std::optional<rubato::chrome_trace> trace{};
  std::uint64_t gradients = 0, staleness = 0;
  void operator()(const rubato::record& r) noexcept {
    if (r.what == rubato::record::kind::admit) ++gradients, staleness += r.staleness;
    if (log) (*log)(r);
    if (trace) (*trace)(r);
  }
  void answered(const rubato::event& asked, const rubato::decision& answer, const rubato::insight& by) noexcept {
    if (trace) trace->answered(asked, answer, by);
  }
};
using trainer = lt::trainer<torch::nn::Sequential, watcher>;

// A straggler sleeps; which step of whom is one, is drawn.
void straggle(const options& o, std::uint64_t seed, const lt::worker_step& step) {
  rubato::random_sequence random{seed, (std::uint64_t{1} << 40) + step.worker.index, step.number};
  if (random.uniform() < o.straggle)
    std::this_thread::sleep_for(std::chrono::duration<double, std::milli>{o.straggle_for});
}

// The steps of all workers that have begun. They end, if there is an end of them, whoever makes the last one.
class workload {
 public:
  workload(std::uint64_t steps, bool decays) : steps_{steps}, decays_{decays} {}
  [[nodiscard]] bool take_one() noexcept { return begun_++ < steps_ || steps_ == 0; }
  // By how far the training has come.
  [[nodiscard]] double rate_factor() const noexcept {
    const std::uint64_t begun = begun_;
    return !decays_ || 2 * begun <= steps_ ? 1.0 : 4 * begun <= 3 * steps_ ? 0.1 : 0.01;
  }

 private:
  const std::uint64_t steps_;
  const bool decays_;
  std::atomic<std::uint64_t> begun_ = 0;
};

std::string text_of(double x, const char* format) {
  char made[32];
  std::snprintf(made, sizeof made, format, x);
  return made;
}

struct outcome {
  std::optional<double> seconds{};  // to the target
  double took = 0, accuracy = 0, steps_per_second = 0, mean_staleness = 0;
};

rubato::result<std::uint64_t> write_trace(const std::string& path, const rubato::chrome_trace& trace) {
  auto file = rubato::atomic_file::create(path);
  if (!file) return file.error();
  trace.write(*file);
  return file->commit();
}

// Before anything is judged, which takes long and may be interrupted. What is wrong, or nothing.
std::optional<rubato::error> write_files(const options& o, trainer& of, const torch::nn::Module& model) {
  if (!o.save.empty())
    if (const auto saved = lt::save_state(o.save, model); !saved) return saved.error();
  return of.server().inspect([&o](auto&, watcher& seen) -> std::optional<rubato::error> {
    if (seen.log)
      if (const auto done = seen.log->sink().commit(); !done) return done.error();
    if (seen.trace)
      if (const auto done = write_trace(o.trace, *seen.trace); !done) return done.error();
    return std::nullopt;
  });
}

// One run. Models are kept and judged afterwards, so that judging takes no time of the training.
rubato::result<outcome> run(const options& o, const images& all, const std::string& name, std::uint64_t seed) {
  torch::manual_seed(seed);
  workload steps{o.steps, o.decay};
  auto rule = optimizer_named(o.optimizer, o.rate, o.momentum, [&steps](std::uint64_t) { return steps.rate_factor(); });
  if (!rule) return rule.error();
  const rubato::any_policy policy = *policy_named(name, o.samples);
  watcher observer;
  if (!o.log.empty()) {
    auto file = rubato::atomic_file::create(o.log);
    if (!file) return file.error();
    observer.log.emplace(std::move(*file), policy);
  }
  if (!o.trace.empty()) observer.trace.emplace(rubato::chrome_trace_options{.workers = o.workers, .policy = name});
  auto made = trainer::make(
      {.sync = {.capacity = o.workers}, .shards = o.shards, .nominal_samples = o.samples},
      [&all] { return net_for(all); }, *rule, policy, std::move(observer));
  if (!made) return made.error();
  trainer& t = **made;

  auto workers = std::async(std::launch::async, [&] {
    return t.run(o.workers, [&](torch::nn::Sequential& net, const lt::worker_step& step) -> lt::batch_loss {
      if (!steps.take_one()) return torch::Tensor{};
      const images::batch b = all.draw(seed, step.worker.index, step.number, step.samples);
      torch::Tensor loss = torch::cross_entropy_loss(net->forward(b.pixels), b.labels);
      straggle(o, seed, step);
      return loss;
    });
  });
  std::fprintf(stderr, "%s, seed %llu: training ...\n", name.c_str(), static_cast<unsigned long long>(seed));
  const auto begin = std::chrono::steady_clock::now();
  const auto passed = [begin] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  std::vector<std::pair<double, torch::nn::Sequential>> models;
  try {
    bool over = false;
    for (; !over && passed() < o.seconds; models.emplace_back(passed(), t.model()))
      over = workers.wait_for(std::chrono::duration<double>{std::min(o.look, o.seconds - passed())}) ==
             std::future_status::ready;
    if (!over && o.steps > 0)
      return t.stop(),
             rubato::error{rubato::errc::io, "--steps " + std::to_string(o.steps) + ": found them unfinished after " +
                                                 text_of(o.seconds, "%g") + " s, expected longer --seconds"};
  } catch (...) {
    t.stop();
    throw;
  }
  outcome found{.took = passed()};
  t.stop();
  for (const lt::worker_end& each : workers.get()) {
    if (!each.failure.empty()) return rubato::error{rubato::errc::io, name + ": " + each.failure};
    found.steps_per_second += static_cast<double>(each.steps) / found.took;
  }
  if (const auto wrong = write_files(o, t, *models.back().second)) return *wrong;
  found.mean_staleness = t.server().inspect([](auto&, const watcher& seen) {
    return static_cast<double>(seen.staleness) / static_cast<double>(std::max<std::uint64_t>(seen.gradients, 1));
  });
  std::fprintf(stderr, "%s, seed %llu: trained for %.0f s; judging %zu models ...\n", name.c_str(),
               static_cast<unsigned long long>(seed), found.took, models.size());
  for (auto& [when, net] : models)
    if (judged(net, all).accuracy >= o.target) {
      found.seconds = when;
      break;
    }
  found.accuracy = judged(models.back().second, all).accuracy;
  return found;
}

// Mean, and the lowest and highest.
std::string spread(const std::vector<double>& of, const char* format) {
  const auto [low, high] = std::minmax_element(of.begin(), of.end());
  double sum = 0;
  for (const double each : of) sum += each;
  std::string all = text_of(sum / static_cast<double>(of.size()), format);
  if (of.size() > 1) all += " (" + text_of(*low, format) + " to " + text_of(*high, format) + ")";
  return all;
}

// Whether a file can be written there, which nobody wants to learn after the training.
std::optional<std::string> cannot_write(const std::string& path) {
  if (path.empty()) return std::nullopt;
  const auto file = rubato::atomic_file::create(path);  // leaves nothing, since it is not committed
  return file ? std::nullopt : std::optional{file.error().message};
}

int compare(const options& o) {
  at::set_num_threads(1);
  for (const auto& [option, path] : {std::pair{"--log", &o.log}, {"--trace", &o.trace}, {"--save", &o.save}})
    if (const auto wrong = cannot_write(*path))
      return std::fprintf(stderr, "torch_train: %s: %s\n", option, wrong->c_str()), 1;
  const images all{o.data};
  const bool timed = o.steps > 0;
  std::string length = timed ? std::to_string(o.steps) + " steps" : "";
  if (std::isfinite(o.seconds)) length += (timed ? " within " : "") + text_of(o.seconds, "%g") + " s";
  std::printf("%s; %u workers, %s a run, target %g\n\n", all.description().c_str(), o.workers, length.c_str(),
              o.target);
  std::printf("| policy | s to %g %% |%s accuracy | steps/s | mean staleness |\n", 100 * o.target,
              timed ? " s in all |" : "");
  std::printf("| --- | --- |%s --- | --- | --- |\n", timed ? " --- |" : "");
  std::fflush(stdout);
  for (const std::string& name : o.policies) {
    std::vector<double> seconds, took, accuracies, pace, stale;
    for (std::uint64_t seed = o.seed; seed < o.seed + o.seeds; ++seed) {
      const auto found = run(o, all, name, seed);
      if (!found) return std::fprintf(stderr, "torch_train: %s\n", found.error().message.c_str()), 1;
      if (found->seconds) seconds.push_back(*found->seconds);
      took.push_back(found->took);
      accuracies.push_back(100 * found->accuracy);
      pace.push_back(found->steps_per_second);
      stale.push_back(found->mean_staleness);
    }
    const std::size_t missed = accuracies.size() - seconds.size();
    std::string reached = seconds.empty() ? "not reached" : spread(seconds, "%.1f");
    if (!seconds.empty() && missed > 0) reached += ", " + std::to_string(missed) + " not";
    if (timed) reached += " | " + spread(took, "%.1f");
    std::printf("| %s | %s | %s %% | %s | %s |\n", name.c_str(), reached.c_str(), spread(accuracies, "%.1f").c_str(),
                spread(pace, "%.0f").c_str(), spread(stale, "%.1f").c_str());
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  options o;
  CLI::App app{"Trains a network on images with workers that are threads, under one policy after the other."};
  app.add_option("--data", o.data, "folder with the training files of MNIST or of CIFAR-10")->required();
  app.add_option("--policy", o.policies, std::string{policy_names} + "; several are compared")
      ->delimiter(',')
      ->check([](const std::string& name) {
        return policy_named(name) ? "" : "found '" + name + "', expected " + policy_names;
      })
      ->capture_default_str();
  app.add_option("--workers", o.workers)->check(CLI::Range(1, 256))->capture_default_str();
  app.add_option("--shards", o.shards, "of the parameters, with a lock each")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  app.add_option("--samples", o.samples, "of a step")->check(CLI::Range(1, 65'535))->capture_default_str();
  app.add_option("--optimizer", o.optimizer)->check(CLI::IsMember({"sgd", "adam"}))->capture_default_str();
  app.add_option("--learning-rate", o.rate)->check(CLI::Range(0.0, 100.0))->capture_default_str();
  app.add_option("--momentum", o.momentum, "of sgd")->check(CLI::Range(0.0, 0.999))->capture_default_str();
  auto* seconds = app.add_option("--seconds", o.seconds,
                                 "of each run; with --steps, the most it may take, for ever if it is not given")
                      ->check(CLI::Range(0.1, 1e6))
                      ->capture_default_str();
  auto* steps = app.add_option("--steps", o.steps, "of all workers together, after which a run ends")
                    ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 40));
  app.add_flag("--decay", o.decay,
               "the learning rate falls to a tenth after half of the steps, and to a hundredth after three quarters")
      ->needs(steps);
  app.add_option("--target", o.target, "accuracy on images that nobody trains on")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  app.add_option("--look", o.look, "seconds between two models that are judged")
      ->check(CLI::Range(0.01, 1e6))
      ->capture_default_str();
  app.add_option("--straggle", o.straggle, "share of the steps that take longer")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  app.add_option("--straggle-for", o.straggle_for, "by so many milliseconds, asleep")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str();
  app.add_option("--seed", o.seed)->capture_default_str();
  app.add_option("--seeds", o.seeds, "runs of each policy, with this seed and the next ones")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--log", o.log, "decision log of the last run, JSON lines, for rubato-lab advise");
  app.add_option("--trace", o.trace, "timeline of the last run, for ui.perfetto.dev");
  app.add_option("--save", o.save, "model of the last run, for torch.load() in Python");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  if (o.steps > 0 && seconds->count() == 0) o.seconds = std::numeric_limits<double>::infinity();
  try {
    return compare(o);
  } catch (const rubato::support::user_error& e) {
    std::fprintf(stderr, "torch_train: --data %s\n", e.what());
    return 1;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "torch_train: %s\n", lt::sentence_of(e).c_str());
    return 1;
  }
}
