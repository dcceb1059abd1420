#ifndef RUBATO_GLOO_PS_PROGRAMS_SERVING_HPP
#define RUBATO_GLOO_PS_PROGRAMS_SERVING_HPP

#include <CLI/CLI.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <rubato/core/result.hpp>
#include <rubato/gloo_ps/server.hpp>
#include <rubato/gloo_ps/straggler_eviction.hpp>
#include <rubato/io/atomic_file.hpp>
#include <rubato/io/decision_log.hpp>
#include <rubato/io/flight_recorder.hpp>
#include <rubato/sync/any_policy.hpp>
#include <rubato/sync/extras/job_metrics.hpp>
#include <rubato/sync/extras/straggler_detector.hpp>
#include <string>
#include <utility>
#include <vector>

#include "common.hpp"
#include "fault_record.hpp"
#include "metrics_endpoint.hpp"
#include "session_threads.hpp"
#include "task.hpp"

/// What a server's program does, whatever moves the bytes.
struct serving_options {
  rubato::gloo_ps::server_options server;
  std::string policy = "ssp:3", control, log, report, model;
  std::uint64_t done = 0;
  double evict_from = 0;  ///< times the median step time; 0: nobody
  rubato::straggler_options stragglers;
  rule_options rule;
  std::optional<std::uint16_t> metrics;  ///< port; 0: any; none: no metrics
  std::string metrics_host = "127.0.0.1", flight;

  /// All but server.job.workers.
  void add_to(CLI::App& app);
};

/// A job as the server's program has it: decides who may run, keeps the parameters, carries out the orders of an
/// operator, writes checkpoints, and goes on from one if there is one.
///
///     auto job = served_job::prepare(options, common);          // everything that can be wrong before anybody comes
///     if (auto wrong = job->open(life)) ...
///     job->serve([&](session_threads& talks) { ... accept one, talks.start(... job->server().serve(link)) });
///     if (auto wrong = job->finish()) ...
class served_job {
 public:
  struct watcher {
    bool begun = false;
    std::optional<rubato::decision_log<rubato::atomic_file>> log{};
    std::optional<rubato::straggler_detector> stragglers{};
    std::optional<rubato::job_metrics> metrics{};
    std::optional<rubato::flight_recorder> flight{};
    void operator()(const rubato::record& r) noexcept;
  };
  using server_type = rubato::gloo_ps::server<watcher>;

  /// Errors  invalid_option: of the options; io: of a file
  [[nodiscard]] static rubato::result<served_job> prepare(serving_options o, const common_options& common);
  /// Makes the server. What is wrong, or nothing.
  [[nodiscard]] std::optional<rubato::error> open(std::uint32_t life);
  [[nodiscard]] server_type& server() noexcept { return *server_; }

  /// Calls accept(threads) again and again until the job has ended, and between looks after it. accept() waits for a
  /// connection for a twentieth of a second; it returns what went wrong, or nothing.
  template <class Accept>
  void serve(Accept&& accept) {
    session_threads talks;
    const struct closing {  // whatever ends this block: the threads would talk on
      server_type& of;
      ~closing() { of.close(); }
    } at_the_end{server()};
    std::string known;
    while (!server().closed()) {
      const std::string trouble = accept(talks);
      if (!trouble.empty() && std::exchange(known, trouble) != trouble) std::printf("%s\n", trouble.c_str());
      talks.reap();
      look();
    }
    tell_changes();
  }
  /// Writes checkpoint, model and log; judges the parameters; writes the report. What is wrong first, or nothing.
  [[nodiscard]] std::optional<rubato::error> finish();

 private:
  served_job(serving_options o, std::unique_ptr<task> work, rubato::any_policy rule)
      : o_{std::move(o)}, work_{std::move(work)}, rule_{std::move(rule)} {}
  void look();
  [[nodiscard]] std::optional<rubato::error> open_windows();
  void look_for_flight();
  void obey(const std::string& command);
  void look_for_commands();
  void tell_changes();
  void tell_drops();
  void evict_stragglers();
  void look_for_quorum();
  [[nodiscard]] bool evict(std::uint32_t index);
  [[nodiscard]] std::uint64_t finished();
  [[nodiscard]] std::optional<rubato::error> write_report(const task::verdict& quality);

  serving_options o_;
  std::unique_ptr<task> work_;
  rubato::any_policy rule_;
  std::optional<rubato::gloo_ps::checkpoint> saved_{};
  std::unique_ptr<server_type> server_{};
  std::size_t told_changes_ = 0;
  rubato::gloo_ps::steady::time_point next_quorum_ = rubato::gloo_ps::after(5);
  bool begun_ = false;
  std::string control_trouble_{};                        // said already
  std::vector<rubato::gloo_ps::eviction> stragglers_{};  // taken out
  std::map<std::uint32_t, std::uint32_t> evicted_{};     // index and last incarnation of who was, whoever took it out
  std::unique_ptr<fault_record> flight_{};
  std::optional<metrics_endpoint> endpoint_{};  // before the server goes
};

#endif
