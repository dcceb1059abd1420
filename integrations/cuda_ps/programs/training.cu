#include "training.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <rubato/cuda_ps/train.cuh>
#include <rubato/io/atomic_file.hpp>
#include <rubato/io/decision_log.hpp>
#include <rubato/sync/rivals/k_sync.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "perceptron.cuh"
#include "support/policy_names.hpp"

namespace {

using rubato::error;
using rubato::result;
using device_server = ps::device_server<32>;

std::optional<std::uint32_t> number_after(const std::string& name, const std::string& prefix) {
  if (!name.starts_with(prefix)) return std::nullopt;
  std::uint32_t n = 0;
  const char* const end = name.data() + name.size();
  const auto [at, bad] = std::from_chars(name.data() + prefix.size(), end, n);
  return bad == std::errc{} && at == end ? std::optional{n} : std::nullopt;
}
std::optional<rubato::any_policy> policy_named(const std::string& name) {
  if (const auto k = number_after(name, "ksync:"); k && *k > 0) return rubato::k_sync{.k = *k};
  if (name.find('+') != std::string::npos) return std::nullopt;  // batches of more samples than there is room for
  return rubato::support::policy_named(name);
}
std::optional<device_server::policy_type> device_policy_named(const std::string& name) {
  using policy = device_server::policy_type;
  if (name == "asp") return policy::asp();
  if (name == "bsp") return policy::bsp();
  if (name == "bsp:sum") return policy::bsp(true);
  if (name == "knee") return policy::knee();
  if (const auto k = number_after(name, "ksync:")) return policy::k_sync(*k);
  if (const auto s = number_after(name, "ssp:")) return policy::ssp(*s);
  return std::nullopt;
}

ps::rule_options rule_of(const training_options& o) {
  return {.kind = o.optimizer == "adam"       ? ps::rule_kind::adam
                  : o.optimizer == "momentum" ? ps::rule_kind::momentum
                                              : ps::rule_kind::sgd,
          .learning_rate = o.rate,
          .momentum = o.momentum};
}

struct watcher {
  std::optional<rubato::decision_log<rubato::atomic_file>> log{};
  void operator()(const rubato::record& r) noexcept {
    if (log) (*log)(r);
  }
};
using host_server = ps::server<rubato::any_policy, watcher>;

// What the workers compute with: images on each device, room for each worker.
struct workshop {
  const training_options& o;
  perceptron_shape shape;
  std::vector<int> devices;
  std::vector<device_images> images;  // of each device
  std::vector<perceptron> nets;       // of each worker, and one that judges
  ps::stream judging;
  ps::device_array<float> judged;

  [[nodiscard]] error begin(const rubato::support::image_set& from) {
    error wrong;
    shape = {.inputs = static_cast<int>(from.inputs), .hidden = static_cast<int>(o.hidden)};
    images.resize(devices.size());
    for (std::size_t d = 0; d < devices.size(); ++d)
      if (ps::failed(rubato::cuda::check(cudaSetDevice(devices[d]), "a device"), wrong) ||
          ps::failed(device_images::make(from), images[d], wrong) ||
          ps::failed(rubato::cuda::check(cudaDeviceSynchronize(), "the images"), wrong))
        return wrong;
    nets.resize(o.workers + 1);
    for (std::size_t w = 0; w < nets.size(); ++w) {
      const std::size_t d = w == o.workers ? 0 : w % devices.size();
      // A grant may ask for six times the samples.
      const std::uint32_t rows = w == o.workers ? 1000 : 6 * o.samples;
      if (ps::failed(rubato::cuda::check(cudaSetDevice(devices[d]), "a device"), wrong) ||
          ps::failed(perceptron::make(shape, images[d], static_cast<int>(rows)), nets[w], wrong))
        return wrong;
    }
    if (ps::failed(rubato::cuda::check(cudaSetDevice(devices[0]), "the first device"), wrong) ||
        ps::failed(ps::make_stream(), judging, wrong) ||
        ps::failed(ps::device_array<float>::make(shape.parameters()), judged, wrong))
      return wrong;
    return warm_up();
  }
  // All kernels once, cuBLAS's among them: what is loaded when it is launched first may wait for streams that wait for
  // a decision.
  [[nodiscard]] error warm_up() {
    error wrong;
    for (std::uint32_t w = 0; w < o.workers; ++w) {
      const ps::on_device here{devices[w % devices.size()]};
      ps::stream own;
      ps::device_array<float> parameters, gradient, loss;
      if (ps::failed(ps::make_stream(), own, wrong) ||
          ps::failed(ps::device_array<float>::make(shape.parameters()), parameters, wrong) ||
          ps::failed(ps::device_array<float>::make(shape.parameters()), gradient, wrong) ||
          ps::failed(ps::device_array<float>::make(1), loss, wrong))
        return wrong;
      kernels::dawdle<<<1, 1, 0, own.get()>>>(0);
      if (ps::failed(nets[w].gradient({.samples = o.samples,
                                       .parameters = parameters.data(),
                                       .gradient = gradient.data(),
                                       .loss = loss.data(),
                                       .stream = own.get()},
                                      0),
                     wrong) ||
          ps::failed(rubato::cuda::check(cudaStreamSynchronize(own.get()), "the first step of a worker"), wrong))
        return wrong;
    }
    const auto accuracy = nets.back().accuracy(judged.data(), judging.get());
    return accuracy ? error{} : accuracy.error();
  }
  // One gradient. A straggler sleeps; which step of whom is one, is drawn.
  [[nodiscard]] error operator()(std::uint32_t worker, const ps::lane_step& step) {
    rubato::random_sequence random{o.seed, (std::uint64_t{1} << 40) + worker, step.number};
    if (random.uniform() < o.straggle)
      kernels::dawdle<<<1, 1, 0, step.stream>>>(static_cast<unsigned long long>(1e6 * o.straggle_for));
    return nets[worker].gradient(step, (o.seed << 40) ^ (std::uint64_t{worker} << 32) ^ step.number);
  }
};

struct outcome {
  std::optional<double> seconds{};  // to the target
  double accuracy = 0, steps_per_second = 0;
};

// Looks at the model now and then, until the target, or the time is over.
template <class Snapshot, class Stop, class Train>
result<outcome> watch(workshop& shop, Snapshot&& snapshot, Stop&& stop, Train&& train) {
  const training_options& o = shop.o;
  std::vector<ps::worker_end> ends;
  std::jthread workers{[&] { ends = train(); }};
  const auto begin = std::chrono::steady_clock::now();
  const auto passed = [begin] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  outcome found;
  error wrong;
  while (passed() < o.seconds && !found.seconds && wrong.code == rubato::errc::ok) {
    std::this_thread::sleep_for(std::chrono::duration<double>{std::min(o.look, std::max(o.seconds - passed(), 0.0))});
    const double when = passed();
    if (wrong = snapshot(shop.judged.data(), shop.judging.get()); wrong.code != rubato::errc::ok) break;
    const auto accuracy = shop.nets.back().accuracy(shop.judged.data(), shop.judging.get());
    if (!accuracy) {
      wrong = accuracy.error();
      break;
    }
    found.accuracy = *accuracy;
    if (found.accuracy >= o.target) found.seconds = when;
  }
  const double took = passed();
  stop();
  workers.join();
  for (const ps::worker_end& each : ends) {
    if (each.failure.code != rubato::errc::ok && wrong.code == rubato::errc::ok) wrong = each.failure;
    found.steps_per_second += static_cast<double>(each.steps) / took;
  }
  if (wrong.code != rubato::errc::ok) return wrong;
  return found;
}

error write_apply_log(const std::string& path, const result<std::vector<ps::log_entry>>& log) {
  if (!log) return log.error();
  auto file = rubato::atomic_file::create(path);
  if (!file) return file.error();
  constexpr const char* names[] = {"copy", "apply", "add", "flush", "discard"};
  (*file)("number,what,worker,step,version,factor\n");
  for (const ps::log_entry& each : *log) {
    char line[128];
    const bool is_gradient = each.what == ps::deed::apply || each.what == ps::deed::add;
    const int length =
        std::snprintf(line, sizeof line, "%llu,%s,%d,%u,%llu,%.9g\n", static_cast<unsigned long long>(each.number),
                      names[static_cast<std::size_t>(each.what)], is_gradient ? static_cast<int>(each.worker) : -1,
                      each.step, static_cast<unsigned long long>(each.version), static_cast<double>(each.factor));
    (*file)(std::string_view{line, static_cast<std::size_t>(length)});
  }
  if (const auto done = file->commit(); !done) return done.error();
  return {};
}

result<outcome> train_by_host(workshop& shop) {
  const training_options& o = shop.o;
  const rubato::any_policy policy = *policy_named(o.policy);
  watcher observer;
  if (!o.log.empty()) {
    auto file = rubato::atomic_file::create(o.log);
    if (!file) return file.error();
    observer.log.emplace(std::move(*file), policy);
  }
  auto made = host_server::make({.sync = {.capacity = o.workers},
                                 .shards = o.shards,
                                 .nominal_samples = o.samples,
                                 .log_capacity = o.apply_log.empty() ? std::size_t{0} : std::size_t{1} << 22},
                                shop.devices, shop.shape.initial(o.seed), policy, rule_of(o), std::move(observer));
  if (!made) return made.error();
  host_server& server = **made;
  auto found = watch(
      shop,
      [&](float* to, cudaStream_t stream) {
        const auto version = server.snapshot(to, stream);
        return version ? error{} : version.error();
      },
      [&] { server.shutdown(); }, [&] { return ps::train(server, o.workers, ~std::uint64_t{0}, shop); });
  if (found && !o.apply_log.empty())
    if (error wrong = write_apply_log(o.apply_log, server.log()); wrong.code != rubato::errc::ok) return wrong;
  return server.inspect([&](const auto&, watcher& seen) -> result<outcome> {
    if (seen.log)
      if (const auto done = seen.log->sink().commit(); !done) return done.error();
    return found;
  });
}

result<outcome> train_by_device(workshop& shop) {
  const training_options& o = shop.o;
  const auto policy = device_policy_named(o.policy);
  const char* const unfit = !policy                    ? "--policy: decisions on the device know asp, bsp, bsp:sum, "
                                                         "knee, ksync:K and ssp:S; expected one of these, or --decide host"
                            : shop.devices.size() != 1 ? "--devices: decisions on the device are for one"
                            : o.shards != 1            ? "--shards: decisions on the device have one shard"
                            : !o.log.empty()           ? "--log: decisions on the device leave an apply log alone"
                                                       : nullptr;
  if (unfit != nullptr) return error{rubato::errc::invalid_option, unfit};
  auto made = device_server::make({.workers = o.workers,
                                   .nominal_samples = o.samples,
                                   .log_capacity = o.apply_log.empty() ? std::size_t{0} : std::size_t{1} << 22},
                                  shop.shape.initial(o.seed), *policy, rule_of(o));
  if (!made) return made.error();
  device_server& server = **made;
  auto found = watch(
      shop, [&](float* to, cudaStream_t stream) { return server.snapshot(to, stream); }, [&] { server.stop(); },
      [&] { return ps::train(server, o.workers, ~std::uint64_t{0}, shop); });
  if (found && !o.apply_log.empty())
    if (error wrong = write_apply_log(o.apply_log, server.log()); wrong.code != rubato::errc::ok) return wrong;
  return found;
}

}  // namespace

bool is_training_policy(const std::string& name) { return policy_named(name).has_value(); }

int train_on_images(const training_options& o, const rubato::support::image_set& images) {
  // Streams wait for each other, and each needs a queue of its own; kernels are not to be loaded while they do. Both
  // are read when the device is first touched.
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
  setenv("CUDA_MODULE_LOADING", "EAGER", 0);
  int count = 0;
  if (const cudaError_t answer = cudaGetDeviceCount(&count); answer != cudaSuccess || count == 0) {
    std::fprintf(stderr, "cuda_train: no CUDA device here (%s); expected one, and its driver\n",
                 answer == cudaSuccess ? "none found" : cudaGetErrorString(answer));
    return 77;
  }
  workshop shop{.o = o, .shape = {}, .devices = o.devices, .images = {}, .nets = {}, .judging = {}, .judged = {}};
  const auto found = [&]() -> result<outcome> {
    error wrong;
    if (ps::failed(ps::begin_devices(shop.devices), wrong) || ps::failed(shop.begin(images), wrong)) return wrong;
    cudaDeviceProp properties{};
    if (ps::failed(rubato::cuda::check(cudaGetDeviceProperties(&properties, shop.devices[0]), "the device"), wrong))
      return wrong;
    std::printf("%s; %s; %u workers, decisions on the %s, %zu parameters, target %g\n", images.description.c_str(),
                properties.name, o.workers, o.on_device ? "device" : "host", shop.shape.parameters(), o.target);
    return o.on_device ? train_by_device(shop) : train_by_host(shop);
  }();
  if (!found) {
    std::fprintf(stderr, "cuda_train: %s\n", found.error().message.c_str());
    return 1;
  }
  std::printf("%s: ", o.policy.c_str());
  if (found->seconds)
    std::printf("%.2f s to %g %%, ", *found->seconds, 100 * o.target);
  else
    std::printf("%g %% not reached, ", 100 * o.target);
  std::printf("%.2f %% at the end, %.0f steps/s\n", 100 * found->accuracy, found->steps_per_second);
  return 0;
}
