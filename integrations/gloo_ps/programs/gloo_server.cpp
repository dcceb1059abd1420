// The server: takes in workers as they come, decides who may run, keeps the parameters, writes checkpoints, and goes on
// from one if there is one. Status 0: the job ended; 1: it could not be, and a sentence says why; 2: wrong options.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <rubato/gloo_ps/open_files.hpp>
#include <rubato/gloo_ps/rendezvous.hpp>
#include <rubato/gloo_ps/server.hpp>
#include <rubato/gloo_ps/straggler_eviction.hpp>
#include <rubato/io/atomic_file.hpp>
#include <rubato/io/decision_log.hpp>
#include <rubato/io/json_writer.hpp>
#include <rubato/sync/extras/straggler_detector.hpp>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "common.hpp"
#include "session_threads.hpp"
#include "support/policy_names.hpp"
#include "task.hpp"

namespace ps = rubato::gloo_ps;
using rubato::support::policy_named;
using rubato::support::policy_names;

namespace {

struct options {
  common_options common;
  ps::server_options server;
  std::string policy = "ssp:3", control, log, report, model;
  std::uint64_t done = 0;
  double evict_from = 0;  // times the median step time; 0: nobody
  rubato::straggler_options stragglers;
  rule_options rule;
};

struct watcher {
  bool begun = false;
  std::optional<rubato::decision_log<rubato::atomic_file>> log{};
  std::optional<rubato::straggler_detector> stragglers{};
  void operator()(const rubato::record& r) noexcept {
    begun |= r.what == rubato::record::kind::release;
    if (log) (*log)(r);
    if (stragglers) (*stragglers)(r);
  }
};
using server = ps::server<watcher>;

volatile std::sig_atomic_t stop_signal = 0;
void on_signal(int number) { stop_signal = number; }

unsigned long long wide(std::uint64_t n) { return n; }

// Who was taken out of the job.
struct evictions {
  std::vector<ps::eviction> stragglers{};
  std::map<std::uint32_t, std::uint32_t> incarnations{};  // the last of each worker, whoever took it out
};

// An operator's; false if nobody is connected under this index.
bool evict(server& here, std::uint32_t index, evictions& evicted) {
  const std::optional<rubato::worker_id> gone = here.evict(index);
  if (gone) evicted.incarnations[index] = gone->incarnation;
  return gone.has_value();
}

// One command: "policy NAME", "evict INDEX", "save" or "stop".
void obey(server& here, const std::string& command, evictions& evicted) {
  std::istringstream words{command};
  std::string verb, argument, more;
  words >> verb >> argument >> more;
  const bool alone = argument.empty();
  if (verb == "stop" && alone) return here.close();
  if (verb == "save" && alone) {
    const auto saved = here.save();
    std::printf("%s\n", saved ? "checkpoint written" : saved.error().message.c_str());
    return;
  }
  if (verb == "evict" && more.empty()) {
    std::uint32_t index = rubato::no_worker;
    const char* const end = argument.data() + argument.size();
    const auto [last, bad] = std::from_chars(argument.data(), end, index);
    const bool gone = bad == std::errc{} && last == end && evict(here, index, evicted);
    std::printf(gone ? "worker %s is taken out\n" : "no worker %s is connected\n", argument.c_str());
    return;
  }
  const auto rule = verb == "policy" && more.empty() ? policy_named(argument) : std::nullopt;
  if (!rule) {
    std::printf("command refused: '%s', expected policy NAME, evict INDEX, save or stop; NAME: %s\n", command.c_str(),
                policy_names);
    return;
  }
  if (const auto changed = here.decide().switch_to({argument, *rule}); !changed)
    std::printf("policy refused: %s\n", changed.error().message.c_str());
}

// Carries out and removes the control file, if there is one.
void look_for_commands(server& here, const std::string& path, evictions& evicted) {
  if (path.empty() || ::access(path.c_str(), F_OK) != 0) return;
  std::vector<std::string> lines;
  {
    std::ifstream file{path};
    for (std::string line; std::getline(file, line);)
      if (!line.empty()) lines.push_back(line);
  }
  ::unlink(path.c_str());
  for (const std::string& line : lines) obey(here, line, evicted);
}

// Prints the pause of each change of the policy, once it is known.
void tell_changes(server& here, std::size_t& told) {
  const auto changes = here.decide().changes();
  for (; told < changes.size() && changes[told].pause >= 0; ++told)
    std::printf("switched %s -> %s: %.6f s from the last push before to the first release after\n",
                changes[told].from.c_str(), changes[told].to.c_str(), changes[told].pause);
}

// Takes out whom the detector finds, and says so.
void evict_stragglers(server& here, evictions& evicted) {
  const auto gone = ps::evict_straggler(
      here, [](watcher & all) -> auto& { return *all.stragglers; });
  if (!gone) return;
  std::printf("worker %u, incarnation %u, is taken out at %.3f s: its steps take %.4g s, the median %.4g s\n",
              gone->of.who.index, gone->of.who.incarnation, gone->at, gone->of.step_time, gone->of.median);
  evicted.stragglers.push_back(*gone);
  evicted.incarnations[gone->of.who.index] = gone->of.who.incarnation;
}

// Workers that have finished, and those that were taken out and have not come back.
std::uint64_t finished(server& here, const evictions& evicted) {
  std::uint64_t all = here.ends(ps::session_end::done);
  here.decide().inspect([&](const auto& sync) {
    for (const auto& [index, incarnation] : evicted.incarnations)
      all +=
          sync.workers()[index].incarnation == incarnation && sync.workers()[index].state == rubato::worker_state::left;
  });
  return all;
}

std::optional<rubato::error> write_report(const options& o, server& here, std::span<const float> parameters,
                                          const task::verdict& quality, const evictions& evicted) {
  auto file = rubato::atomic_file::create(o.report);
  if (!file) return file.error();
  rubato::json_writer json{*file};
  json.begin_object().member("life", here.options().life).member("version", here.decide().version());
  json.member("seconds", here.decide().seconds()).member("lost", here.decide().lost());
  json.member("checkpoints", here.saves()).member("loss", quality.loss).member("accuracy", quality.accuracy);
  json.key("refused").begin_object();
  for (int i = 1; i < static_cast<int>(ps::refusal::count_); ++i)
    json.member(name(static_cast<ps::refusal>(i)), here.refused(static_cast<ps::refusal>(i)));
  json.end_object().key("ends").begin_object();
  for (int i = 0; i < static_cast<int>(ps::session_end::count_); ++i)
    json.member(name(static_cast<ps::session_end>(i)), here.ends(static_cast<ps::session_end>(i)));
  json.end_object().key("switches").begin_array();
  for (const ps::policy_change& c : here.decide().changes())
    json.begin_object()
        .member("from", std::string_view{c.from})
        .member("to", std::string_view{c.to})
        .member("at", c.at)
        .member("pause", c.pause)
        .end_object();
  json.end_array().key("stragglers").begin_array();
  for (const ps::eviction& e : evicted.stragglers)
    json.begin_object()
        .member("worker", e.of.who.index)
        .member("incarnation", e.of.who.incarnation)
        .member("at", e.at)
        .member("step_time", e.of.step_time)
        .member("median", e.of.median)
        .end_object();
  json.end_array().key("parameters").begin_array();
  for (std::size_t i = 0; i < parameters.size() && i < 1024; ++i) json.value(parameters[i]);
  json.end_array().end_object();
  (*file)("\n");
  if (const auto done = file->commit(); !done) return done.error();
  return std::nullopt;
}

// Why no file can be made there, as a sentence; empty if nothing is known against it.
std::string no_room_for(const char* option, const std::string& path) {
  if (path.empty()) return {};
  const std::string parent = std::filesystem::path{path}.parent_path().string(), folder = parent.empty() ? "." : parent;
  if (::access(folder.c_str(), W_OK | X_OK) == 0) return {};
  return std::string{option} + " " + path + ": no file can be made in " + folder + ": " + std::strerror(errno);
}

// Says every five seconds who is waited for, until the job begins.
class quorum_watch {
 public:
  explicit quorum_watch(const ps::job_options& job) : wanted_{job.quorum > 0 ? job.quorum : job.workers} {}
  void look(server& here) {
    if (begun_ || ps::steady::now() < next_) return;
    begun_ = here.decide().inspect([](auto& sync) { return sync.watcher().begun; });
    if (!begun_) std::printf("%u workers are here; nobody runs before there are %u\n", here.connected(), wanted_);
    next_ = ps::after(5);
  }

 private:
  std::uint32_t wanted_;
  ps::steady::time_point next_ = ps::after(5);
  bool begun_ = false;
};

int run(options o) {
  const auto fail = [](const std::string& what, int status = 1) { return complain("gloo_server", what, status); };
  for (const auto& [option, file] : {std::pair{"--checkpoint", &o.server.checkpoint},
                                     {"--control", &o.control},
                                     {"--report", &o.report},
                                     {"--model", &o.model}})
    if (const std::string wrong = no_room_for(option, *file); !wrong.empty()) return fail(wrong);
  std::optional<ps::checkpoint> saved;
  if (!o.server.checkpoint.empty() && ::access(o.server.checkpoint.c_str(), F_OK) == 0) {
    auto read = ps::read_checkpoint(o.server.checkpoint);
    if (!read) return fail(read.error().message);
    saved = std::move(*read);
    o.policy = saved->policy;  // whatever an operator had switched to
  }
  auto rule = policy_named(o.policy);
  if (!rule) return fail("--policy " + o.policy + ": expected " + policy_names, 2);
  o.server.job.job = o.common.job;
  auto made = make_task(o.common.task);
  if (!made) return complain("gloo_server", made.error());
  task& work = **made;
  if (!o.model.empty() && !work.has_file())
    return fail("--model: task " + o.common.task.name + " has no file for it", 2);
  o.server.job.model = {work.parameters().size(), o.common.shards};
  o.server.job.seed = o.common.task.seed;
  auto updates = work.rule(o.rule);
  if (!updates) return complain("gloo_server", updates.error());
  o.server.job.rule = std::move(*updates);
  if (const std::string wrong = problem(o.server, *rule); !wrong.empty()) return fail(wrong, 2);
  const bool evicts = o.evict_from != 0;
  if (evicts) {
    if (!(o.evict_from > 1 && o.evict_from <= 1e6))
      return fail("--evict-stragglers " + rubato::detail::text_of(o.evict_from) +
                      ": expected a factor above 1 and up to 1e6, or 0 for nobody",
                  2);
    o.stragglers.slow = 1 / o.evict_from;
    o.stragglers.recovered = (std::max)(o.stragglers.recovered, o.stragglers.slow);
    if (const std::string wrong = problem(o.stragglers); !wrong.empty()) return fail(wrong, 2);
  }

  if (const auto files = ps::allow_open_files(std::uint64_t{o.server.job.workers} + 64); !files)
    return fail(std::to_string(o.server.job.workers) + " workers: " + files.error().message);
  auto device = ps::gloo_device::open(o.common.host, o.common.interface);
  if (!device) return complain("gloo_server", device.error());
  auto store = ps::open_store(o.common.store);
  if (!store) return complain("gloo_server", store.error());

  watcher observer;
  if (!o.log.empty()) {
    auto file = rubato::atomic_file::create(o.log);
    if (!file) return fail(file.error().message);
    observer.log.emplace(std::move(*file), *rule);
  }
  if (evicts) observer.stragglers.emplace(o.server.job.workers, o.stragglers);
  if (ps::server_answers(*device, *store, o.common.job, 2))
    return fail("a server of job " + std::to_string(o.common.job) + " is at work in this store: end it first");
  auto doors = ps::gloo_doors::open(*device, *store, o.common.job, o.common.connect_limit);
  if (!doors) return fail(doors.error().message);
  o.server.life = doors->life();
  const auto served = server::make(
      o.server, {o.policy, *rule}, work.parameters(),
      [](const std::string& line) { std::printf("%s\n", line.c_str()); }, std::move(observer));
  if (!served) return complain("gloo_server", served.error());
  server& here = **served;
  if (saved) {
    const auto version = here.restore(std::move(*saved));
    if (!version) return fail(o.server.checkpoint + ": " + version.error().message);
    std::printf("restored version %llu from %s\n", wide(*version), o.server.checkpoint.c_str());
  }
  std::printf("life %u of job %llu: %s\n", doors->life(), wide(o.common.job), rule->describe().line.c_str());
  evictions evicted;
  {
    session_threads talks;
    const struct closing {  // whatever ends this block: the threads would talk on
      server& of;
      ~closing() { of.close(); }
    } at_the_end{here};
    std::size_t told = 0;
    std::string known;
    quorum_watch quorum{o.server.job};
    while (!here.closed()) {
      std::string trouble;
      if (auto knock = doors->accept(ps::after(0.05)))
        trouble = talks.start([&here, k = std::move(*knock)]() mutable {
          if (auto link = std::move(k).finish()) here.serve(*link);
        });
      else
        trouble = doors->take_trouble();
      if (!trouble.empty() && std::exchange(known, trouble) != trouble) std::printf("%s\n", trouble.c_str());
      talks.reap();
      look_for_commands(here, o.control, evicted);
      tell_changes(here, told);
      if (evicts) evict_stragglers(here, evicted);
      quorum.look(here);
      if (doors->superseded()) here.abandon();
      if (stop_signal != 0 || (o.done > 0 && finished(here, evicted) >= o.done)) here.close();
    }
    tell_changes(here, told);
  }
  if (here.abandoned())
    return fail("life " + std::to_string(doors->life() + 1) + " of job " + std::to_string(o.common.job) +
                " has begun: this server ends, at version " + std::to_string(here.decide().version()));
  std::ranges::copy(here.parameters(), work.parameters().begin());
  const task::verdict quality = work.judge();
  std::printf("ended at version %llu after %.3f s, loss %.5f", wide(here.decide().version()), here.decide().seconds(),
              quality.loss);
  if (quality.accuracy >= 0) std::printf(", accuracy %.2f %%", 100 * quality.accuracy);
  std::printf("\n");
  if (!o.server.checkpoint.empty())
    if (const auto last = here.save(); !last) return fail(last.error().message);
  if (!o.model.empty())
    if (const auto size = work.save(o.model); !size) return fail(size.error().message);
  if (!o.report.empty())
    if (const auto wrong = write_report(o, here, work.parameters(), quality, evicted)) return fail(wrong->message);
  return here.decide().inspect([&](auto& sync) {
    if (!sync.watcher().log) return 0;
    const auto done = sync.watcher().log->sink().commit();
    return done ? 0 : fail(done.error().message);
  });
}

}  // namespace

int main(int argc, char** argv) {
  options o;
  ps::job_options& job = o.server.job;
  CLI::App app{"A parameter server over Gloo: decides, at every pushed gradient, who may run next."};
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  o.common.add_to(app);
  app.add_option("--workers", job.workers, "worker indices go from 0 to this minus 1")->required();
  app.add_option("--quorum", job.quorum, "nobody runs before so many have joined; 0: all")->capture_default_str();
  app.add_option("--policy", o.policy, policy_names)->capture_default_str();
  app.add_option("--optimizer", o.rule.name, "of the updates; which there are, the task says")->capture_default_str();
  app.add_option("--learning-rate", o.rule.sgd.learning_rate)->capture_default_str();
  app.add_option("--momentum", o.rule.sgd.momentum)->capture_default_str();
  app.add_option("--samples", job.nominal_samples, "of a step, where the policy does not say")->capture_default_str();
  app.add_option("--updates", job.max_updates, "after which the job ends; 0: no end")->capture_default_str();
  app.add_option("--done", o.done,
                 "the job ends when so many workers have finished, or were taken out; 0: not for that")
      ->capture_default_str();
  app.add_option("--checkpoint", o.server.checkpoint, "file to write, and to go on from if it is there");
  app.add_option("--checkpoint-every", o.server.checkpoint_every, "updates")->capture_default_str();
  app.add_option("--floor", job.limits.floor, "seconds: no limit on a step or a wait is shorter")
      ->capture_default_str();
  app.add_option("--ceiling", job.limits.ceiling, "seconds: nor longer")->capture_default_str();
  app.add_option("--slack", job.limits.slack, "a step may take so many times the longest one")->capture_default_str();
  app.add_option("--hello", job.limits.hello, "seconds for a first message, and for each part of one")
      ->capture_default_str();
  app.add_option("--control", o.control,
                 "file looked for commands: policy NAME, evict INDEX, save, stop; removed when read");
  app.add_option("--evict-stragglers", o.evict_from,
                 "take out a worker whose steps take more than FACTOR times the median in three windows running, say "
                 "1.25, where the policy makes the others wait for it; 0: nobody")
      ->type_name("FACTOR")
      ->capture_default_str();
  app.add_option("--straggler-window", o.stragglers.window,
                 "seconds; a window also has ten steps of each worker, on average")
      ->capture_default_str();
  app.add_option("--log", o.log, "decision log, JSON lines; written at the end");
  app.add_option("--report", o.report, "JSON file, written at the end");
  app.add_option("--model", o.model, "file for the trained model, where the task has one");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  o.common.apply();
  std::signal(SIGTERM, on_signal);
  std::signal(SIGINT, on_signal);
  try {
    return run(std::move(o));
  } catch (const std::exception& e) {
    return complain("gloo_server", e.what());
  }
}
