// Trains a network on CIFAR-10 that grows when devices come and shrinks when they go, by a script. Status 0: done; 1:
// it could not be, and a sentence says why; 2: wrong options.
#include <torch/nn.h>
#include <torch/optim.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <exception>
#include <filesystem>
#include <functional>
#include <numeric>
#include <optional>
#include <rubato/core/rng.hpp>
#include <rubato/io/atomic_file.hpp>
#include <rubato/io/json_writer.hpp>
#include <rubato/libtorch/growth/growth_job.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "growth_nets.hpp"
#include "kept_memory.hpp"
#include "lab/growth_weights.hpp"
#include "support/image_files.hpp"
#include "support/name_parts.hpp"
#include "support/user_error.hpp"

namespace adapt = rubato::adapt;
namespace lt = rubato::libtorch;
using rubato::support::number_in;
using rubato::support::split;
using rubato::support::user_error;

namespace {

struct options {
  std::string data, net = "conv_net_2", decide = "never", checkpoint, json;
  double budget = 400, rate = 0.01, rate_factor = 0.9, last_rate = 0, noise = 1, work_rate = 0;
  std::vector<double> up, down;
  std::uint64_t seed = 1, samples = 0, steps = 3;
  std::uint32_t batch = 64;
  int threads = 1;
  bool resume = false, carry = false, widen = false, processor_clock = false;
};
using decider = std::function<rubato::result<std::size_t>(const lt::growth_question&)>;

constexpr const char* deciders = "never, random:SEED, actions:0,1,1 or agent:FILE[:VOCABULARY]";
// Nothing where there is no such name. Throws user_error for files.
std::optional<decider> decider_named(const std::string& name, bool read_files) {
  const auto colon = name.find(':');
  const std::string kind = name.substr(0, colon), rest = colon == name.npos ? "" : name.substr(colon + 1);
  if (name == "never") return lt::never_grow{};
  if (rest.empty()) return std::nullopt;
  if (kind == "random") {
    const auto seed = number_in<std::uint64_t>(rest);
    return seed ? std::optional<decider>{lt::random_growth{*seed}} : std::nullopt;
  }
  if (kind == "actions") {
    lt::listed_growth list;
    for (const std::string_view each : split(rest, ',')) {
      const auto action = number_in<std::size_t>(each);
      if (!action) return std::nullopt;
      list.actions.push_back(*action);
    }
    return list;
  }
  if (kind != "agent") return std::nullopt;
  const auto files = split(rest, ':');
  if (files.size() > 2 || files[0].empty() || (files.size() == 2 && files[1].empty())) return std::nullopt;
  if (!read_files) return lt::never_grow{};
  return std::visit([](const auto& agent) { return decider{lt::growth_by_agent{agent}}; },
                    rubato::lab::read_growth_weights(files[0], files.size() == 2 ? files[1] : std::string_view{}, {}));
}

// CIFAR-10: pixels from -1 to 1, another order in each epoch, by the seed; the last sixth is kept for judging.
class images {
 public:
  images(const options& o) : set_{rubato::support::read_image_set(o.data)}, seed_{o.seed}, batch_{o.batch} {
    if (set_.inputs != 3 * 32 * 32)
      throw user_error{o.data + ": images of " + std::to_string(set_.inputs) + " bytes, expected 3072 (CIFAR-10)"};
    const auto all = static_cast<std::int64_t>(set_.samples());
    pixels_ = torch::from_blob(set_.pixels.data(), {all, 3, 32, 32}, torch::kUInt8);
    labels_ = torch::from_blob(set_.labels.data(), {all}, torch::kUInt8).to(torch::kInt64);
    training_ = static_cast<std::int64_t>(set_.training_samples());
    if (o.samples > static_cast<std::uint64_t>(training_))
      throw user_error{o.data + ": " + std::to_string(training_) + " images for training, expected --samples " +
                       std::to_string(o.samples)};
    order_.resize(o.samples > 0 ? o.samples : static_cast<std::size_t>(training_));
  }
  images(const images&) = delete;
  images& operator=(const images&) = delete;

  [[nodiscard]] lt::growth_data data() {
    return {.training = [this](std::uint64_t epoch, std::uint64_t n) { return training(epoch, n); },
            .judging = [this](std::uint64_t n) { return judging(n); }};
  }
  [[nodiscard]] std::string description() const {
    return set_.description + "; " + std::to_string(order_.size()) + " for training, " +
           std::to_string(labels_.numel() - training_) + " for judging";
  }

 private:
  lt::growth_batch training(std::uint64_t epoch, std::uint64_t n) {
    if (shuffled_ != epoch) {
      std::iota(order_.begin(), order_.end(), 0);
      rubato::random_sequence random{seed_, epoch};
      for (std::size_t i = order_.size(); i > 1; --i) std::swap(order_[i - 1], order_[random.below(i)]);
      shuffled_ = epoch;
    }
    const std::size_t from = n * batch_;
    if (from >= order_.size()) return {};
    const std::size_t count = std::min<std::size_t>(batch_, order_.size() - from);
    const torch::Tensor at = torch::from_blob(order_.data() + from, {static_cast<std::int64_t>(count)}, torch::kInt64);
    return {prepared(pixels_.index_select(0, at)), labels_.index_select(0, at)};
  }
  [[nodiscard]] lt::growth_batch judging(std::uint64_t n) const {
    const std::int64_t from = training_ + static_cast<std::int64_t>(n) * 500;
    if (from >= labels_.numel()) return {};
    const std::int64_t count = std::min<std::int64_t>(500, labels_.numel() - from);
    return {prepared(pixels_.narrow(0, from, count)), labels_.narrow(0, from, count)};
  }
  [[nodiscard]] static torch::Tensor prepared(const torch::Tensor& bytes) {
    return (bytes.to(torch::kFloat32) / 255 - 0.5) / 0.5;
  }

  rubato::support::image_set set_;
  std::uint64_t seed_;
  std::size_t batch_;
  torch::Tensor pixels_, labels_;
  std::int64_t training_ = 0;
  std::vector<std::int64_t> order_;  // of the epoch that is shuffled
  std::optional<std::uint64_t> shuffled_{};
};

void print(const lt::growth_epoch& epoch, double seconds) {
  std::printf("epoch %llu: %.*s at %.2f, %llu batches, loss %.4f, ", static_cast<unsigned long long>(epoch.number),
              static_cast<int>(name(epoch.end).size()), name(epoch.end).data(), epoch.time,
              static_cast<unsigned long long>(epoch.batches), epoch.loss);
  if (epoch.accuracy) std::printf("accuracy %.2f %%, ", 100 * *epoch.accuracy);
  if (epoch.lambda > 0) std::printf("taught at %.4f, ", epoch.lambda);
  std::printf("rate %.5f, %llu insertions, %llu parameters; took %.2f s\n", epoch.learning_rate,
              static_cast<unsigned long long>(epoch.insertions), static_cast<unsigned long long>(epoch.parameters),
              seconds);
  std::fflush(stdout);
}

rubato::result<std::uint64_t> write_json(const options& o, const adapt::growable_model& model,
                                         const lt::growth_report& report) {
  auto file = rubato::atomic_file::create(o.json);
  if (!file) return file.error();
  rubato::json_writer json{*file};
  const auto accuracy = [&](const std::optional<double>& value) {
    json.key("accuracy");
    value ? json.value(*value) : json.value(nullptr);
  };
  json.begin_object().member("net", std::string_view{o.net}).member("decide", std::string_view{o.decide});
  json.member("seed", o.seed).member("budget", o.budget).member("time_used", report.time_used);
  json.member("work", report.work);
  accuracy(report.accuracy);
  json.key("decisions").begin_array();
  for (const lt::growth_decision& d : report.decisions) {
    const auto what = model.action(d.action);
    const bool deepens = what && what->kind == adapt::growth_kind::deepen;
    json.begin_object().member("time", d.time).member("epoch", d.epoch).member("action", d.action);
    json.member("kind", std::string_view{!what ? "nothing" : deepens ? "deepen" : "widen"});
    if (what) json.member("block", std::uint64_t{what->block});
    json.end_object();
  }
  json.end_array().key("changes").begin_array();
  for (const lt::growth_change& c : report.changes) {
    json.begin_object().member("time", c.time).member("change", name(c.change));
    accuracy(c.accuracy);
    json.end_object();
  }
  json.end_array().key("epochs").begin_array();
  for (const lt::growth_epoch& e : report.epochs) {
    json.new_line().begin_object().member("number", e.number).member("end", name(e.end)).member("time", e.time);
    json.member("batches", e.batches).member("loss", e.loss).member("learning_rate", e.learning_rate);
    json.member("lambda", e.lambda).member("insertions", e.insertions).member("parameters", e.parameters);
    accuracy(e.accuracy);
    json.end_object();
  }
  json.end_array().end_object();
  return file->commit();
}

// Of all threads of this process.
double processor_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

int complain(const std::string& what) { return std::fprintf(stderr, "torch_growth: %s\n", what.c_str()), 1; }

int train(const options& o) {
  using clock = std::chrono::steady_clock;
  using job_type = lt::growth_job<torch::optim::Adam, torch::optim::AdamOptions>;
  at::set_num_threads(o.threads);
  keep_freed_memory();
  for (const auto& [option, path] : {std::pair{"--checkpoint", &o.checkpoint}, {"--json", &o.json}})
    if (!path->empty())  // it leaves nothing, since it is not committed
      if (const auto file = rubato::atomic_file::create(*path); !file)
        return complain(std::string{option} + ": " + file.error().message);
  const decider decide = *decider_named(o.decide, true);
  images all{o};
  torch::manual_seed(o.seed);
  const lt::growable_sequential net =
      o.net == "conv_net_2" ? growth_nets::conv_net_2(o.widen) : growth_nets::conv_net_3(o.widen);

  const auto begin = clock::now();
  auto last = begin;
  lt::growth_job_options how{.decisions = o.steps,
                             .widening = {.noise = o.noise},
                             .optimizer = o.carry ? lt::optimizer_state::carried : lt::optimizer_state::reset,
                             .rate_factor = o.rate_factor,
                             .last_rate = o.last_rate > 0 ? std::optional{o.last_rate} : std::nullopt,
                             .checkpoint = o.checkpoint};
  how.watch = [&](const lt::growth_epoch& epoch) {
    const auto now = clock::now();
    print(epoch, std::chrono::duration<double>(now - last).count());
    last = now;
  };
  const bool goes_on = o.resume && std::filesystem::exists(o.checkpoint);
  auto job = goes_on ? job_type::resume(o.checkpoint, net, torch::optim::AdamOptions(o.rate), how)
                     : job_type::make(net, torch::optim::AdamOptions(o.rate), how);
  if (!job) return complain(job.error().message);

  const double before = job->time_used(), processor_before = processor_seconds();
  const std::function<double()> now = [&] {
    if (o.work_rate > 0) return static_cast<double>(job->work()) / o.work_rate;
    if (o.processor_clock) return before + processor_seconds() - processor_before;
    return before + std::chrono::duration<double>(clock::now() - begin).count();
  };
  std::vector<adapt::scheduled_change> script;
  for (const double at : o.up) script.push_back({at, adapt::allocation::up});
  for (const double at : o.down) script.push_back({at, adapt::allocation::down});
  std::ranges::stable_sort(script, {}, &adapt::scheduled_change::at);
  script.erase(script.begin(), script.begin() + static_cast<std::ptrdiff_t>(std::min(job->changes(), script.size())));
  auto scheduler = adapt::scripted_scheduler<std::function<double()>>::make(o.budget, script, now);
  if (!scheduler) return complain(scheduler.error().message);

  std::printf("%s\n", all.description().c_str());
  if (goes_on) std::printf("goes on after epoch %zu, at %.2f\n", job->report().epochs.size() - 1, before);
  std::fflush(stdout);
  const auto report = job->run(*scheduler, decide, all.data());
  if (!report) return complain(report.error().message);
  for (const lt::growth_change& change : report->changes) {
    std::printf("devices %s at %.2f", change.change == adapt::allocation::up ? "came" : "went", change.time);
    if (change.accuracy) std::printf(", the smaller model has %.2f %%", 100 * *change.accuracy);
    std::printf("\n");
  }
  for (const lt::growth_decision& decision : report->decisions)
    std::printf("action %llu at %.2f\n", static_cast<unsigned long long>(decision.action), decision.time);
  if (report->accuracy)
    std::printf("accuracy %.2f %%\n", 100 * *report->accuracy);
  else
    std::printf("no epoch was completed in this time\n");
  if (!o.json.empty())
    if (const auto done = write_json(o, *net->description(), *report); !done)
      return complain("--json: " + done.error().message);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  options o;
  CLI::App app{"Trains a network on CIFAR-10 that grows when devices come, and shrinks when they go, by a script."};
  app.add_option("--data", o.data, "folder with the training files of CIFAR-10, binary version")->required();
  app.add_option("--net", o.net)->check(CLI::IsMember({"conv_net_2", "conv_net_3"}))->capture_default_str();
  app.add_option("--budget", o.budget, "seconds in all")->check(CLI::Range(1e-6, 1e9))->capture_default_str();
  app.add_option("--up", o.up, "seconds after which devices come; several with commas")
      ->delimiter(',')
      ->check(CLI::Range(0.0, 1e9));
  app.add_option("--down", o.down, "seconds after which devices go")->delimiter(',')->check(CLI::Range(0.0, 1e9));
  app.add_option("--decide", o.decide, std::string{"how to grow: "} + deciders)
      ->check([](const std::string& name) {
        return decider_named(name, false) ? "" : "found '" + name + "', expected " + deciders;
      })
      ->capture_default_str();
  app.add_option("--steps", o.steps, "decisions each time that devices come")->capture_default_str();
  app.add_option("--samples", o.samples, "of the training images, the first ones; 0: all")->capture_default_str();
  app.add_option("--batch", o.batch, "samples of a step")->check(CLI::Range(1, 65'535))->capture_default_str();
  app.add_option("--learning-rate", o.rate, "of Adam, at first")->check(CLI::Range(0.0, 100.0))->capture_default_str();
  auto* factor = app.add_option("--rate-factor", o.rate_factor, "of the learning rate, after each completed epoch")
                     ->check(CLI::Range(1e-6, 1.0))
                     ->capture_default_str();
  app.add_option("--last-rate", o.last_rate, "the learning rate falls to this by the end of the budget, evenly")
      ->check(CLI::PositiveNumber)
      ->excludes(factor);
  auto* widen = app.add_flag("--widen", o.widen, "whoever decides may widen the convolutional blocks: actions 3 and 4");
  app.add_option("--widening-noise", o.noise, "on what a copied channel reads, in standard deviations of its weights")
      ->check(CLI::Range(0.0, 100.0))
      ->needs(widen)
      ->capture_default_str();
  app.add_flag("--carry", o.carry, "growing keeps the optimizer's moments and its learning rate");
  app.add_option("--seed", o.seed, "of the parameters and of the images' order")->capture_default_str();
  auto* work = app.add_option("--work-clock", o.work_rate,
                              "a second is so many multiply-adds of training, whatever they take; without it, and "
                              "without --processor-clock, seconds are seconds")
                   ->check(CLI::Range(1.0, 1e18));
  app.add_flag("--processor-clock", o.processor_clock, "a second is one that this process has had a processor")
      ->excludes(work);
  app.add_option("--threads", o.threads, "of torch")->check(CLI::Range(1, 256))->capture_default_str();
  auto* checkpoint = app.add_option("--checkpoint", o.checkpoint, "file that is replaced after each completed epoch");
  app.add_flag("--resume", o.resume, "go on from the checkpoint, if there is one; with the options that it began with")
      ->needs(checkpoint);
  app.add_option("--json", o.json, "file for the report");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  try {
    return train(o);
  } catch (const user_error& e) {
    return complain(e.what());
  } catch (const std::exception& e) {
    return complain(lt::sentence_of(e));
  }
}
