#include "gloo_host.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <fstream>
#include <iterator>
#include <memory>
#include <rubato/gloo_ps/rendezvous.hpp>
#include <rubato/gloo_ps/server.hpp>
#include <rubato/gloo_ps/stores.hpp>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>

#include "gloo_order.hpp"
#include "real_run.hpp"
#include "run_board.hpp"
#include "support/child_process.hpp"
#include "support/temporary_folder.hpp"

namespace rubato::lab {
namespace {

namespace ps = gloo_ps;
using clock = std::chrono::steady_clock;

constexpr std::uint32_t most_workers = 256;

// Sockets report a peer that is gone by an error, not by the end of the program.
class no_broken_pipes {
 public:
  no_broken_pipes() { sigaction(SIGPIPE, &ignored_, &before_); }
  ~no_broken_pipes() { sigaction(SIGPIPE, &before_, nullptr); }
  no_broken_pipes(const no_broken_pipes&) = delete;
  no_broken_pipes& operator=(const no_broken_pipes&) = delete;

 private:
  struct sigaction ignored_ = [] {
    struct sigaction made {};
    made.sa_handler = SIG_IGN;
    return made;
  }();
  struct sigaction before_ {};
};

// Of each worker, the number of its lives up to the last one that died. A life is an incarnation; in a run without
// trouble only those die that the scenario has ended.
using lives = std::vector<std::atomic<std::uint32_t>>;

// Passes on what workers and server have to know of each other, see run_board, and notes who died.
struct board_watcher {
  run_board* board;
  push_counter* pushes;
  lives* died;
  void operator()(const record& r) noexcept {
    const std::uint32_t w = r.worker.index;
    if (r.what == record::kind::release) {
      if (!board->begun()) board->begin();
      board->of(w).cancelled = false;
    }
    if (r.what == record::kind::cancel) board->of(w).cancelled = true;
    if (r.what == record::kind::admit) pushes->will_push(w, board->of(w).made);
    if (r.what == record::kind::depart && r.why == cause::death) (*died)[w] = r.worker.incarnation + 1;
  }
};
using server = ps::server<observers<scores, board_watcher, run_watcher>>;

// A worker's process is given so long to end by itself.
[[nodiscard]] clock::time_point last_moment() { return clock::now() + std::chrono::seconds{5}; }

// Beyond the longest that the run may take, with the time that everybody needs to come.
[[nodiscard]] unsigned time_limit_of(const setting& at) {
  constexpr double most = 30 * 86'400.0;
  return static_cast<unsigned>(std::min(at.scenario.run.max_time * at.unit_seconds + 180, most));
}

[[nodiscard]] ps::server_options options_of(const setting& at, std::size_t parameters, std::uint32_t quorum,
                                            std::uint64_t seed) {
  // No worker counts as dead for being slow: their processes are watched.
  const double limit = time_limit_of(at);
  return {.job = {.job = gloo_job,
                  .model = {parameters, gloo_shards},
                  .workers = at.scenario.cluster.workers,
                  .quorum = quorum,
                  .nominal_samples = at.scenario.run.batch,
                  .seed = seed,
                  .rule = threads_ps::sgd{{.learning_rate = static_cast<float>(at.scenario.run.learning_rate.base),
                                           .momentum = static_cast<float>(at.scenario.sgd.momentum)}},
                  .guard = at.scenario.run.guard,
                  .limits = {.floor = limit, .ceiling = limit, .hello = 30}}};
}

template <class Result>
[[nodiscard]] auto value_or_throw(Result&& made) {
  if (!made) throw std::runtime_error{"--host gloo: " + made.error().message};
  return *std::forward<Result>(made);
}

class gloo_host final : public real_host {
 public:
  gloo_host(const setting& at, const training_data& data, const any_policy& policy, std::uint64_t seed, real_run& run,
            any_observer* also, std::filesystem::path program)
      : program_{std::move(program)},
        board_{board_in(folder_.path()), at.scenario.cluster.workers, at.scenario.cluster.cores, at.scenario.run.loss},
        died_(at.scenario.cluster.workers),
        made_{value_or_throw(server::make(
            options_of(at, run.parameters().size(), run.quorum(), seed), {"policy", policy}, run.parameters(), {},
            {scores{at.scenario.cluster.workers}, board_watcher{&board_, &run.pushes(), &died_},
             run_watcher{&run.pushes(), also}}))},
        ps_{*made_},
        children_(at.scenario.cluster.workers),
        ends_(at.scenario.cluster.workers),
        ended_(at.scenario.cluster.workers) {
    gloo_order{at, seed, data.directory, data.fingerprint, time_limit_of(at)}.write(folder_.path());
    const std::filesystem::path store = folder_.path() / "store";
    std::filesystem::create_directory(store);
    doors_.emplace(
        value_or_throw(ps::gloo_doors::open(value_or_throw(ps::gloo_device::open("127.0.0.1")),
                                            value_or_throw(ps::open_store(store_in(folder_.path()))), gloo_job)));
    doorkeeper_ = std::thread{[this] { let_in(); }};
  }
  ~gloo_host() override {
    for (auto& each : children_)
      if (each) each->kill();
    gloo_host::close();
  }

  void begin_life(worker_id who) override {
    std::optional<support::child_process>& child = children_[who.index];
    if (child && !child->wait(last_moment())) child->kill();  // its predecessor, which was to leave
    board_.vacate(who.index);
    board_.of(who.index).leaves = false;
    ends_[who.index] = false;
    const gloo_worker_arguments given{
        .folder = folder_.path(), .index = who.index, .incarnation = who.incarnation, .parent = getpid()};
    std::vector<std::string> words{"rubato-lab", gloo_worker_word};
    for (std::string& word : given.words()) words.push_back(std::move(word));
    child.emplace(program_, std::move(words), said_by(who.index));
  }
  void end_life(worker_id who, sim::failure_kind how) override {
    ends_[who.index] = true;
    ended_[who.index] = who.incarnation + 1;
    if (how == sim::failure_kind::death) {
      children_[who.index]->kill();
      board_.vacate(who.index);
    } else {
      board_.of(who.index).leaves = true;  // for one that computes; the eviction is for one that waits
      ps_.evict(who.index);
    }
  }
  clock::time_point attend() override {
    throw_failure();
    for (std::uint32_t w = 0; w < children_.size(); ++w) {
      if (children_[w] && !children_[w]->running() && !ends_[w]) throw std::runtime_error{failure_of(w)};
      if (died_[w] > ended_[w])
        throw std::runtime_error{"--host gloo: a worker lost its connection to the server; the run is of no use"};
    }
    return clock::time_point::max();
  }
  [[nodiscard]] double now() override { return ps_.decide().seconds(); }
  void snapshot(std::span<float> to) override { std::ranges::copy(ps_.parameters(), to.begin()); }
  void close() override {
    ps_.close();
    board_.stop();
    const clock::time_point until = board_.begun() ? last_moment() : clock::now();  // who is on its way sees no board
    for (auto& each : children_)
      if (each && !each->wait(until)) each->kill();
    if (doorkeeper_.joinable()) doorkeeper_.join();
    for (std::thread& each : talks_) each.join();
    talks_.clear();
  }
  [[nodiscard]] counts counted(double at) override {
    return ps_.decide().inspect([&](auto& sync) {
      return counted_by(sync, sync.watcher().template get<scores>(), static_cast<std::uint32_t>(children_.size()), at);
    });
  }

 private:
  // The thread that accepts connections; each of them has one of its own.
  void let_in() {
    or_give_up([this] {
      while (!ps_.closed())
        if (auto knock = doors_->accept(ps::after(0.05)))
          talk(std::move(*knock));
        else if (const std::string trouble = doors_->take_trouble(); !trouble.empty())
          throw std::runtime_error{"--host gloo: " + trouble};
    });
  }
  void talk(ps::pending_link with) {
    try {
      talks_.emplace_back([this, w = std::move(with)]() mutable {
        or_give_up([&] {
          if (auto link = std::move(w).finish()) ps_.serve(*link);
        });
      });
    } catch (const std::system_error& e) {
      throw std::runtime_error{std::string{"--host gloo: no thread for another worker: "} + e.what()};
    }
  }
  [[nodiscard]] std::filesystem::path said_by(std::uint32_t w) const {
    return folder_.path() / ("worker-" + std::to_string(w));
  }
  [[nodiscard]] std::string failure_of(std::uint32_t w) const {
    std::ifstream file{said_by(w), std::ios::binary};
    std::string said{std::istreambuf_iterator<char>{file}, {}};
    said.erase(said.find_last_not_of(" \n") + 1);
    return "--host gloo: worker " + std::to_string(w) + " " + children_[w]->end() + (said.empty() ? "" : ": " + said);
  }

  const no_broken_pipes quiet_;
  const support::temporary_folder folder_{"rubato-lab"};
  const std::filesystem::path program_;
  run_board board_;
  lives died_;
  const std::unique_ptr<server> made_;
  server& ps_;
  std::optional<ps::gloo_doors> doors_;
  std::vector<std::optional<support::child_process>> children_;
  std::vector<bool> ends_;            // of those whose life the scenario has ended
  std::vector<std::uint32_t> ended_;  // how many lives of each it has ended
  std::deque<std::thread> talks_;     // the doorkeeper's, until it has ended
  std::thread doorkeeper_;
};

}  // namespace

std::string not_on_gloo(const support::scenario& s) {
  if (s.cluster.workers > most_workers)
    return "cluster.workers is " + std::to_string(s.cluster.workers) + ", expected at most " +
           std::to_string(most_workers) + ": each is a process";
  if (s.cluster.link.bandwidth > 0)
    return "cluster.link.bandwidth is above 0, expected 0: transfers take what they take";
  return not_in_real_time(s);
}

std::optional<measurement> run_on_gloo(const setting& at, const training_data& data, const any_policy& policy,
                                       std::uint64_t seed, const std::atomic<bool>& stop, any_observer* watcher,
                                       const std::filesystem::path& program) {
  real_run run{at, data, seed};
  gloo_host host{at, data, policy, seed, run, watcher, program};
  return run(host, stop);
}

}  // namespace rubato::lab
