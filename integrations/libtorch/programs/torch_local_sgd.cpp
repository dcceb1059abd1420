// One member of a job without a server: trains a network on images by steps of its own, and averages the parameters
// with the other members now and then; after each step, that is synchronous SGD. Members die, and come back, at any
// time. Status 0: it has made its steps; 1: it could not, and a sentence says why; 2: wrong options.
#include <fcntl.h>
#include <torch/nn.h>
#include <torch/optim.h>
#include <unistd.h>
#include <torch/csrc/distributed/c10d/FileStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <optional>
#include <rubato/libtorch/averaging_group.hpp>
#include <rubato/libtorch/replica.hpp>
#include <rubato/libtorch/state_file.hpp>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "images.hpp"
#include "nets.hpp"

namespace lt = rubato::libtorch;

namespace {

// So many averages, each after so many steps.
struct phase {
  std::uint64_t period = 1, averages = 0;
};

struct options {
  lt::group_options group;
  std::string store, data, save;
  std::vector<std::string> phases{"1:100", "8:100"};
  std::uint32_t samples = 64, time_limit = 0;
  std::uint64_t seed = 1;
  double rate = 0.05, momentum = 0, compute = 0;
  bool keeps_store = false;
};

int complain(const std::string& what, int status = 1) {
  std::fprintf(stderr, "torch_local_sgd: %s\n", what.c_str());
  return status;
}
int complain(const rubato::error& e) { return complain(e.message, e.code == rubato::errc::invalid_option ? 2 : 1); }

template <class Number>
bool read_number(std::string_view text, Number& into) {
  const auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), into);
  return bad == std::errc{} && end == text.data() + text.size();
}

// "PERIOD:AVERAGES"; nothing if it is not.
std::optional<phase> phase_of(const std::string& text) {
  const std::size_t colon = text.find(':');
  phase made;
  const std::string_view all = text;
  if (colon == std::string::npos || !read_number(all.substr(0, colon), made.period) ||
      !read_number(all.substr(colon + 1), made.averages) || made.period == 0)
    return std::nullopt;
  return made;
}
// The period after so many averages of the job; nothing if that were all of them.
std::optional<std::uint64_t> period_after(const std::vector<phase>& phases, std::uint64_t averages) {
  for (const phase& each : phases) {
    if (averages < each.averages) return each.period;
    averages -= each.averages;
  }
  return std::nullopt;
}

using store_pointer = c10::intrusive_ptr<c10d::Store>;

// A file, or one in a folder. The destructor of a FileStore ends the process where its file cannot be read, and what it
// reads in a file of another kind it waits for without end: both are looked for here.
rubato::result<store_pointer> open_file_store(std::filesystem::path path) {
  std::error_code none;
  if (std::filesystem::is_directory(path, none)) path /= "store";
  const auto refused = [&path](const std::string& why) {
    return rubato::error{rubato::errc::io, "--store: the file " + path.string() + ' ' + why};
  };
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (file < 0) return refused(std::string{"cannot be opened: "} + std::strerror(errno));
  std::uint32_t length = 0;  // of a key: in a file of text, these bytes are a larger number
  const auto got = ::read(file, &length, sizeof length);
  const bool is_store = got == 0 || (got == sizeof length && length < 4096);
  ::close(file);
  if (!is_store) return refused("is not that of a store, expected a new one, or a folder for it");
  return store_pointer{c10::make_intrusive<c10d::FileStore>(path.string(), -1)};
}

// "file:PATH" or "tcp:HOST:PORT".
rubato::result<store_pointer> open_store(const options& o) {
  if (o.store.starts_with("file:") && o.store.size() > 5) return open_file_store(o.store.substr(5));
  const std::size_t colon = o.store.rfind(':');
  c10d::TCPStoreOptions where;
  if (!o.store.starts_with("tcp:") || colon < 5 ||
      !read_number(std::string_view{o.store}.substr(colon + 1), where.port))
    return rubato::error{rubato::errc::invalid_option, "--store " + o.store + ": expected file:PATH or tcp:HOST:PORT"};
  where.isServer = o.keeps_store;
  where.waitWorkers = false;
  where.timeout = std::chrono::seconds{static_cast<std::int64_t>(o.group.patience) + 1};
  try {
    return store_pointer{c10::make_intrusive<c10d::TCPStore>(o.store.substr(4, colon - 4), where)};
  } catch (const std::exception& e) {
    return rubato::error{rubato::errc::io, "--store " + o.store + ": " + lt::sentence_of(e) +
                                               (o.keeps_store ? "" : " (a member there keeps it: --keeps-store)")};
  }
}

// Tells who keeps the store that this member needs it no more; who keeps it waits for as many as there are.
void let_go(const options& o, c10d::Store& store, std::size_t members) {
  const std::string done = "torch_local_sgd/" + std::to_string(o.group.job) + "/done";
  const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>{o.group.gather};
  try {
    store.add(done, 1);
    while (o.keeps_store && store.add(done, 0) < static_cast<std::int64_t>(members) &&
           std::chrono::steady_clock::now() < until)
      std::this_thread::sleep_for(std::chrono::milliseconds{20});
  } catch (const std::exception&) {  // it has not waited for so long: nobody minds
  }
}

int train(const options& o, const std::vector<phase>& phases, const images& all) {
  torch::manual_seed(o.seed);
  auto net = lt::replica<torch::nn::Sequential>::make(net_for(all));
  if (!net) return complain(net.error().message);
  std::printf("member %u: looks for the group of job %llu in %s, for up to %g s\n", o.group.index,
              static_cast<unsigned long long>(o.group.job), o.store.c_str(), o.group.patience);
  const auto store = open_store(o);
  if (!store) return complain(store.error());
  auto group = lt::averaging_group::join(*store, o.group, net->parameters());
  if (!group) return complain(group.error());
  std::uint64_t generation = 0, steps = 0;
  const auto tell_group = [&] {
    if (std::exchange(generation, group->generation()) == group->generation()) return;
    std::printf("member %u: group %llu, %zu members, from average %llu on\n", o.group.index,
                static_cast<unsigned long long>(generation), group->size(),
                static_cast<unsigned long long>(group->round()));
  };
  tell_group();
  torch::optim::SGD optimizer{net->module()->parameters(), torch::optim::SGDOptions(o.rate).momentum(o.momentum)};
  while (const auto period = period_after(phases, group->round())) {
    for (std::uint64_t n = 0; n < *period; ++n) {
      const images::batch b = all.draw(o.seed, o.group.index, (group->round() << 20) + n, o.samples);
      optimizer.zero_grad();
      torch::cross_entropy_loss((*net)->forward(b.pixels), b.labels).backward();
      optimizer.step();
      ++steps;
      std::this_thread::sleep_for(std::chrono::duration<double, std::milli>{o.compute});
    }
    if (const auto of = group->average(net->parameters()); !of) return complain(of.error().message);
    tell_group();
  }
  if (!o.save.empty() && group->rank() == 0)
    if (const auto saved = lt::save_state(o.save, *net->module()); !saved) return complain(saved.error());
  let_go(o, **store, group->size());
  std::printf("member %u: %llu steps, %llu averages", o.group.index, static_cast<unsigned long long>(steps),
              static_cast<unsigned long long>(group->round()));
  if (group->replaced() > 0) std::printf(", %llu times too late", static_cast<unsigned long long>(group->replaced()));
  std::printf("\n");
  if (group->rank() != 0) return 0;
  const judgement found = judged(net->module(), all);
  std::printf("member %u: loss %.5f, accuracy %.2f %%\n", o.group.index, found.loss, 100 * found.accuracy);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  options o;
  CLI::App app{"A member of a job that averages its parameters now and then, without a server."};
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  app.add_option("--store", o.store,
                 "file:PATH, a folder or a file that all machines see, new for each job; or tcp:HOST:PORT")
      ->required();
  app.add_flag("--keeps-store", o.keeps_store,
               "this process is the server of tcp:HOST:PORT, and ends last: no group is made without it");
  app.add_option("--data", o.data, "folder with the training files of MNIST or of CIFAR-10")->required();
  app.add_option("--index", o.group.index, "of this member, from 0")->required();
  app.add_option("--founders", o.group.founders, "the first group waits for so many")->capture_default_str();
  app.add_option("--phases", o.phases, "PERIOD:AVERAGES, one phase after the other; period 1 is synchronous SGD")
      ->delimiter(',')
      ->check([](const std::string& text) { return phase_of(text) ? "" : "expected PERIOD:AVERAGES, say 8:100"; })
      ->capture_default_str();
  app.add_option("--samples", o.samples, "of a step")->check(CLI::Range(1, 65'535))->capture_default_str();
  app.add_option("--learning-rate", o.rate)->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--momentum", o.momentum)->check(CLI::Range(0.0, 1.0))->capture_default_str();
  app.add_option("--compute", o.compute, "milliseconds that a step takes besides what it takes")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str();
  app.add_option("--job", o.group.job, "its number; another one where all members of a job have died")
      ->capture_default_str();
  app.add_option("--host", o.group.host, "name or address of this machine, by which the others reach it")
      ->capture_default_str();
  app.add_option("--interface", o.group.interface, "network interface instead of --host");
  app.add_option("--gather", o.group.gather, "seconds that a group waits for a member of the one before")
      ->capture_default_str();
  app.add_option("--patience", o.group.patience, "seconds without a group before it ends")->capture_default_str();
  app.add_option("--exchange", o.group.exchange, "seconds that an exchange waits for a member")->capture_default_str();
  app.add_option("--save", o.save, "file for the model, that Python reads; rank 0 writes it");
  app.add_option("--seed", o.seed)->capture_default_str();
  app.add_option("--time-limit", o.time_limit, "seconds after which the process is ended by force; 0: never")
      ->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  if (o.time_limit > 0) ::alarm(o.time_limit);
  std::vector<phase> phases;
  for (const std::string& each : o.phases) phases.push_back(*phase_of(each));
  if (const std::string wrong = lt::problem(o.group); !wrong.empty()) return complain(wrong, 2);
  if (o.keeps_store && !o.store.starts_with("tcp:"))
    return complain("--keeps-store: --store " + o.store + " needs no keeper, expected tcp:HOST:PORT", 2);
  at::set_num_threads(1);
  try {
    const images all{o.data};
    return train(o, phases, all);
  } catch (const rubato::support::user_error& e) {
    return complain(std::string{"--data "} + e.what());
  } catch (const std::exception& e) {
    return complain(lt::sentence_of(e));
  }
}
