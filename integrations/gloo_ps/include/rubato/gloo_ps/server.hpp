#ifndef RUBATO_GLOO_PS_SERVER_HPP
#define RUBATO_GLOO_PS_SERVER_HPP

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "session.hpp"

namespace rubato::inline RUBATO_ABI::gloo_ps {

/// What a server needs to know besides the job.
struct server_options {
  job_options job{};         ///< model, workers, limits
  std::uint32_t life = 0;    ///< tells the servers of a job apart, each higher than the one before (gloo_doors::life())
  std::string checkpoint{};  ///< the file; empty: none
  std::uint64_t checkpoint_every = 100;  ///< updates
  /// After how long a session that waits for its worker, or for the controller, looks at what else could have happened:
  /// a goodbye, a broken connection, a cancelled step, an eviction. Up to eight times as long where nothing comes for
  /// long.
  std::chrono::milliseconds tick{20};
};

/// What is wrong with these options, as a sentence; empty if nothing is.
[[nodiscard]] inline std::string problem(const server_options& o, const any_policy& policy) {
  if (std::string wrong = problem(o.job); !wrong.empty()) return wrong;
  if (o.checkpoint_every == 0) return "checkpoint_every is 0, expected at least 1";
  if (o.tick.count() <= 0) return "tick is not above 0";
  return problem(decision_maker<>::controller_of(o.job), policy);
}

/// A parameter server: decisions, shards, and a conversation for each worker that comes.
///
///     auto ps = gloo_ps::server<>::make(options, {"ssp:3", rubato::ssp{.staleness = 3}}, initial, log);
///     while (auto link = doors.accept(...)) threads.start([&ps, link] { (*ps)->serve(*link); });
///
/// The server knows no engine: whoever accepts connections hands each of them, in a thread, to serve(). Workers come,
/// go, die, hang and come back at any time. A policy is changed by decide().switch_to() in the running job. With a
/// checkpoint file, the state is written every so many updates; restore() at the start goes on from it.
///
/// Pre     serve() has returned everywhere before the destructor runs
/// Thread  serve() from any number; the rest too
/// Tests   tests/integrations/gloo_ps/server_test.cpp
template <Observer Watcher = no_observer>
class server {
 public:
  /// Errors  invalid_option, with what problem(options, policy) says, or `initial` has another size than the model;
  ///         io: there is no thread for it
  [[nodiscard]] static result<std::unique_ptr<server>> make(server_options options, named_policy policy,
                                                            std::span<const float> initial,
                                                            refusals::log_function log = {}, Watcher watcher = {}) {
    if (std::string wrong = problem(options, policy.rule); !wrong.empty())
      return error{errc::invalid_option, std::move(wrong)};
    if (initial.size() != options.job.model.parameters)
      return error{errc::invalid_option, std::to_string(initial.size()) + " initial values, expected " +
                                             std::to_string(options.job.model.parameters)};
    try {
      return std::make_unique<server>(std::move(options), std::move(policy), initial, std::move(log),
                                      std::move(watcher));
    } catch (const std::system_error& e) {
      return error{errc::io, std::string{"no thread for the server: "} + e.what()};
    }
  }
  /// Precondition: problem(options, policy) is empty; `initial` has model.parameters values. Throws std::system_error
  /// where it cannot have its threads: one for each shard, and one more.
  server(server_options options, named_policy policy, std::span<const float> initial, refusals::log_function log = {},
         Watcher watcher = {})
      : options_{std::move(options)},
        refused_{std::move(log)},
        connected_{options_.job.workers},
        decide_{options_.job, std::move(policy), initial, std::move(watcher)},
        keeper_{[this] { keep(); }} {}
  server(const server&) = delete;
  server& operator=(const server&) = delete;
  ~server() {
    close();
    keeper_.join();
  }

  /// Goes on from a checkpoint; before the first serve(). The version it has, or decision_maker::restore()'s errors.
  result<std::uint64_t> restore(checkpoint from) {
    auto version = decide_.restore(std::move(from));
    if (version) saved_ = *version;
    return version;
  }

  /// Talks with one worker until the end of it. The link is closed afterwards.
  template <Link L>
  session_end serve(L& link) {
    served_ = true;
    session<L, Watcher> talk{link, {decide_, connected_, refused_, options_.life, options_.tick, &abandoned_}};
    const session_end end = talk.run();
    if (end == session_end::died || end == session_end::silent || end == session_end::misbehaved)
      refused_.note("worker " + std::to_string(talk.who().index) + ", incarnation " +
                    std::to_string(talk.who().incarnation) + ": " + std::string{name(end)});
    ++ends_[static_cast<std::size_t>(end)];
    return end;
  }

  /// Takes a worker out of the running job: it leaves, nobody waits for it any longer, and it is told so, in this
  /// sentence. A new process of it may come back. Who that was; nothing if none is connected under this index, or is on
  /// its way out.
  std::optional<worker_id> evict(std::uint32_t index, std::string why = "the operator took this worker out") {
    return connected_.evict(index, std::move(why));
  }
  /// The same, of this incarnation only: for whoever has looked at it and decides a little later.
  bool evict(worker_id who, std::string why) { return connected_.evict(who, std::move(why)); }

  /// Ends the job: who waits is told at once, who computes as soon as it can be.
  void close() { decide_.close(); }
  /// Ends here, because a server of a later life has the job: workers are not told that the job has ended, and look for
  /// that one. No checkpoint is begun any more, for the file is the other's. False if the job has ended already.
  bool abandon() {
    if (closed()) return false;
    abandoned_ = true;  // before anybody hears of the end
    close();
    return true;
  }
  [[nodiscard]] bool abandoned() const noexcept { return abandoned_; }     ///< abandon() was called in time
  [[nodiscard]] bool closed() const noexcept { return decide_.closed(); }  ///< the job has ended, here at least

  /// Writes a checkpoint now. The number of bytes; io if it cannot be written, busy if the state kept changing,
  /// invalid_option if there is no file for it, or it is another server's by now.
  result<std::uint64_t> save() {
    if (options_.checkpoint.empty()) return error{errc::invalid_option, "no checkpoint file was named"};
    const std::lock_guard lock{saving_};
    for (int attempt = 0; attempt < 100; ++attempt) {
      if (const auto state = decide_.take_checkpoint()) {
        if (abandoned_) return error{errc::invalid_option, "another server has this job"};
        auto size = write_checkpoint(options_.checkpoint, *state);
        if (size) saved_ = state->version, ++saves_;
        return size;
      }
      decide_.attend(after(0.001));
    }
    return error{errc::busy, "the controller had releases to carry out at every attempt to save it"};
  }

  /// To switch policies, to read counters.
  [[nodiscard]] decision_maker<Watcher>& decide() noexcept { return decide_; }
  [[nodiscard]] std::uint32_t connected() const { return connected_.connected(); }  ///< workers
  /// How many messages and workers were turned away for that reason.
  [[nodiscard]] std::uint64_t refused(refusal why) const { return refused_.of(why); }
  /// How many conversations ended in this way.
  [[nodiscard]] std::uint64_t ends(session_end how) const { return ends_[static_cast<std::size_t>(how)]; }
  [[nodiscard]] std::uint64_t saves() const noexcept { return saves_; }  ///< checkpoints written
  /// Updates in the newest checkpoint, written or gone on from; 0: none.
  [[nodiscard]] std::uint64_t saved_version() const noexcept { return saved_; }
  [[nodiscard]] const server_options& options() const noexcept { return options_; }  ///< as constructed
  /// The parameters, all of them of one version.
  [[nodiscard]] std::vector<float> parameters() {
    std::vector<float> all(options_.job.model.parameters);
    decide_.visit([&](std::uint32_t s, shard& here) {
      const auto from = here.parameters();
      std::copy(from.begin(), from.end(), all.begin() + static_cast<std::ptrdiff_t>(options_.job.model.begin_of(s)));
    });
    return all;
  }

 private:
  // Polls the controller when it wants to be, and writes checkpoints: none before the first serve(), so that what
  // restore() refuses, or is still to read, stays as it is.
  void keep() {
    while (!served_ && !decide_.closed()) decide_.attend(after(0.02));
    if (!served_) return;
    std::uint64_t tried = saved_;
    while (!decide_.closed()) {
      decide_.attend(after(0.02));
      if (const std::string failure = decide_.take_failure(); !failure.empty())
        refused_.note("an update that could not be made: " + failure);
      const std::uint64_t version = decide_.version();
      if (options_.checkpoint.empty() || version - tried < options_.checkpoint_every) continue;
      tried = version;  // also where it fails: a save stops all pushes
      report(save());
    }
    if (!options_.checkpoint.empty() && !abandoned_) report(save());
  }
  void report(const result<std::uint64_t>& saved) {
    if (!saved && std::exchange(complaint_, saved.error().message) != saved.error().message)
      refused_.note("no checkpoint: " + complaint_);
  }

  const server_options options_;
  refusals refused_;
  registry connected_;
  decision_maker<Watcher> decide_;
  std::array<std::atomic<std::uint64_t>, static_cast<std::size_t>(session_end::count_)> ends_{};
  std::mutex saving_;
  std::atomic<std::uint64_t> saved_ = 0, saves_ = 0;
  std::string complaint_;  // of the keeper: the last one
  std::atomic<bool> served_ = false, abandoned_ = false;
  std::thread keeper_;  // last: it uses the others
};

}  // namespace rubato::inline RUBATO_ABI::gloo_ps

#endif
