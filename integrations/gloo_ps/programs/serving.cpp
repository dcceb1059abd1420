#include "serving.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <rubato/io/json_writer.hpp>
#include <rubato/io/regular_file.hpp>
#include <rubato/io/utf8.hpp>
#include <span>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "metrics_page.hpp"
#include "support/policy_names.hpp"

namespace ps = rubato::gloo_ps;
using rubato::errc;
using rubato::error;
using rubato::support::policy_named;
using rubato::support::policy_names;

namespace {

constexpr std::size_t flight_records = 10'000;  // 1.3 MB; a minute of 50 pushes a second
volatile std::sig_atomic_t stop_signal = 0;

unsigned long long wide(std::uint64_t n) { return n; }

// Why no file can be made there, as a sentence; empty if nothing is known against it.
std::string no_room_for(const char* option, const std::string& path) {
  if (path.empty()) return {};
  const std::string parent = std::filesystem::path{path}.parent_path().string(), folder = parent.empty() ? "." : parent;
  if (::access(folder.c_str(), W_OK | X_OK) == 0) return {};
  return std::string{option} + " " + path + ": no file can be made in " + folder + ": " + std::strerror(errno);
}

using file_option = std::pair<const char*, const std::string*>;

// Whether both paths lead to one file, which need not be there.
bool is_same_file(const std::string& a, const std::string& b) {
  std::error_code wrong;
  if (std::filesystem::equivalent(a, b, wrong) && !wrong) return true;
  const auto place = [](const std::string& path) {
    std::error_code no;
    const auto whole = std::filesystem::weakly_canonical(std::filesystem::absolute(path, no), no);
    return no ? std::filesystem::path{path} : whole;
  };
  return place(a) == place(b);
}

// What is wrong with files that would be written over one another, or over what is no file; empty if nothing is.
std::string problem_of(const std::vector<file_option>& files) {
  for (std::size_t i = 0; i < files.size(); ++i) {
    const auto& [option, path] = files[i];
    if (path->empty()) continue;
    struct stat there {};
    if (::stat(path->c_str(), &there) == 0 && !S_ISREG(there.st_mode))
      return std::string{option} + " " + *path + ": not a regular file";
    for (std::size_t j = 0; j < i; ++j)
      if (!files[j].second->empty() && is_same_file(*path, *files[j].second))
        return std::string{files[j].first} + " " + *files[j].second + ": the same file as that of " + option;
  }
  return {};
}

constexpr std::size_t largest_control = 1 << 16;

// What an operator wrote, or what is wrong with it.
rubato::result<std::string> read_control(const std::string& path) {
  const auto no = [&path](const std::string& what) { return error{errc::io, "--control " + path + ": " + what}; };
  auto file = rubato::regular_file::open(path);
  if (!file) return no(file.error().message);
  const auto bytes = file->content(largest_control);
  if (!bytes) return no(bytes.error().message);
  return std::string{reinterpret_cast<const char*>(bytes->data.get()), bytes->size};
}

}  // namespace

void serving_options::add_to(CLI::App& app) {
  ps::job_options& job = server.job;
  app.add_option("--quorum", job.quorum, "nobody runs before so many have joined; 0: all")->capture_default_str();
  app.add_option("--policy", policy, std::string{policy_names} + "; a checkpoint's own, where there is one")
      ->capture_default_str();
  app.add_option("--optimizer", rule.name, "of the updates; which there are, the task says")->capture_default_str();
  app.add_option("--learning-rate", rule.sgd.learning_rate)->capture_default_str();
  app.add_option("--momentum", rule.sgd.momentum)->capture_default_str();
  app.add_option("--samples", job.nominal_samples, "of a step, where the policy does not say")->capture_default_str();
  app.add_option("--updates", job.max_updates, "after which the job ends, or at most one a worker later; 0: no end")
      ->capture_default_str();
  app.add_option("--done", done, "the job ends when so many workers have finished, or were taken out; 0: not for that, over MPI all of them")
      ->capture_default_str();
  app.add_option("--checkpoint", server.checkpoint, "file to write, and to go on from if it is there");
  app.add_option("--checkpoint-every", server.checkpoint_every, "updates")->capture_default_str();
  app.add_option("--floor", job.limits.floor, "seconds: no limit on a step or a wait is shorter")
      ->capture_default_str();
  app.add_option("--ceiling", job.limits.ceiling, "seconds: nor longer")->capture_default_str();
  app.add_option("--slack", job.limits.slack, "a step may take so many times the longest one")->capture_default_str();
  app.add_option("--hello", job.limits.hello, "seconds for a first message, and for each part of one")
      ->capture_default_str();
  app.add_option("--control", control,
                 "file looked for commands: policy NAME, evict INDEX, save, stop; removed when read");
  app.add_option("--evict-stragglers", evict_from,
                 "take out a worker whose steps take more than FACTOR times the median in three windows running, say "
                 "1.25, where the policy makes the others wait for it; 0: nobody")
      ->type_name("FACTOR")
      ->capture_default_str();
  app.add_option("--straggler-window", stragglers.window,
                 "seconds; a window also has ten steps of each worker, on average")
      ->capture_default_str();
  app.add_option("--log", log, "decision log, JSON lines; written at the end");
  app.add_option("--report", report, "JSON file, written at the end");
  app.add_option("--metrics", metrics,
                 "port that answers GET /metrics, for Prometheus; 0: any that is free, and it says which")
      ->check(CLI::Range(0, 65'535));
  app.add_option("--metrics-host", metrics_host, "address of this machine on which it does")->capture_default_str();
  app.add_option("--flight-record", flight,
                 "file for the latest decisions, as a decision log: written at the end, on SIGUSR1 and on a fault");
  app.add_option("--model", model, "file for the trained model, where the task has one");
}

void served_job::watcher::operator()(const rubato::record& r) noexcept {
  begun |= r.what == rubato::record::kind::release;
  if (log) (*log)(r);
  if (stragglers) (*stragglers)(r);
  if (metrics) (*metrics)(r);
  if (flight) (*flight)(r);
}

rubato::result<served_job> served_job::prepare(serving_options o, const common_options& common) {
  const auto no = [](std::string what) { return error{errc::invalid_option, std::move(what)}; };
  const std::vector<file_option> files{
      {"--checkpoint", &o.server.checkpoint}, {"--control", &o.control}, {"--report", &o.report}, {"--log", &o.log},
      {"--flight-record", &o.flight},         {"--model", &o.model}};
  for (const auto& [option, file] : files)
    if (const std::string wrong = no_room_for(option, *file); !wrong.empty()) return error{errc::io, wrong};
  if (std::string wrong = problem_of(files); !wrong.empty()) return no(std::move(wrong));
  std::optional<ps::checkpoint> saved;
  if (!o.server.checkpoint.empty() && ::access(o.server.checkpoint.c_str(), F_OK) == 0) {
    auto read = ps::read_checkpoint(o.server.checkpoint);
    if (!read) return error{errc::io, read.error().message};
    saved = std::move(*read);
    o.policy = saved->policy;  // whatever an operator had switched to
  }
  auto rule = policy_named(o.policy, o.server.job.nominal_samples);
  if (!rule && saved)
    return error{errc::io,
                 o.server.checkpoint + ": its policy is " + rubato::in_quotes(o.policy) + ", expected " + policy_names};
  if (!rule) return no("--policy " + o.policy + ": expected " + policy_names);
  o.server.job.job = common.job;
  auto made = make_task(common.task);
  if (!made) return made.error();
  task& work = **made;
  if (!o.model.empty() && !work.has_file()) return no("--model: task " + common.task.name + " has no file for it");
  o.server.job.model = {work.parameters().size(), common.shards};
  o.server.job.seed = common.task.seed;
  auto updates = work.rule(o.rule);
  if (!updates) return updates.error();
  o.server.job.rule = std::move(*updates);
  if (std::string wrong = problem(o.server, *rule); !wrong.empty()) return no(std::move(wrong));
  if (o.evict_from != 0) {
    if (!(o.evict_from > 1 && o.evict_from <= 1e6))
      return no("--evict-stragglers " + rubato::detail::text_of(o.evict_from) +
                ": expected a factor above 1 and up to 1e6, or 0 for nobody");
    o.stragglers.slow = 1 / o.evict_from;
    o.stragglers.recovered = (std::max)(o.stragglers.recovered, o.stragglers.slow);
    if (std::string wrong = problem(o.stragglers); !wrong.empty()) return no(std::move(wrong));
  }
  served_job job{std::move(o), std::move(*made), std::move(*rule)};
  job.saved_ = std::move(saved);
  return job;
}

std::optional<error> served_job::open(std::uint32_t life) {
  watcher observer;
  if (!o_.log.empty()) {
    auto file = rubato::atomic_file::create(o_.log);
    if (!file) return file.error();
    observer.log.emplace(std::move(*file), rule_);
  }
  if (o_.evict_from != 0) observer.stragglers.emplace(o_.server.job.workers, o_.stragglers);
  if (o_.metrics) observer.metrics.emplace(o_.server.job.workers);
  if (!o_.flight.empty()) observer.flight.emplace(flight_records, rule_);
  o_.server.life = life;
  auto served = server_type::make(
      o_.server, {o_.policy, rule_}, work_->parameters(),
      [](const std::string& line) { std::printf("%s\n", line.c_str()); }, std::move(observer));
  if (!served) return served.error();
  server_ = std::move(*served);
  if (saved_) {
    const auto version = server().restore(std::move(*saved_));
    if (!version) return error{errc::io, o_.server.checkpoint + ": " + version.error().message};
    std::printf("restored version %llu from %s, under its policy %s\n", wide(*version), o_.server.checkpoint.c_str(),
                o_.policy.c_str());
  }
  if (auto wrong = open_windows()) return wrong;
  std::printf("life %u of job %llu: %s\n", life, wide(o_.server.job.job), rule_.describe().line.c_str());
  std::signal(SIGTERM, [](int number) { stop_signal = number; });
  std::signal(SIGINT, [](int number) { stop_signal = number; });
  return std::nullopt;
}

// What others look through from outside: metrics, and the flight record.
std::optional<error> served_job::open_windows() {
  if (!o_.flight.empty())
    flight_ = server().decide().inspect(
        [&](auto& sync) { return std::make_unique<fault_record>(*sync.watcher().flight, o_.flight); });
  if (!o_.metrics) return std::nullopt;
  auto opened = metrics_endpoint::open(o_.metrics_host, *o_.metrics, [this] { return metrics_page(server()); });
  if (!opened) return opened.error();
  endpoint_.emplace(std::move(*opened));
  std::printf("metrics at %s\n", endpoint_->url().c_str());
  return std::nullopt;
}

void served_job::look() {
  look_for_commands();
  tell_changes();
  if (o_.evict_from != 0) evict_stragglers();
  look_for_quorum();
  look_for_flight();
  if (stop_signal != 0 || (o_.done > 0 && finished() >= o_.done)) server().close();
}

std::optional<error> served_job::finish() {
  server_type& here = server();
  std::ranges::copy(here.parameters(), work_->parameters().begin());
  // Judging may take long, and be interrupted: all that needs none of it is written before.
  std::optional<error> wrong;
  const auto keep = [&wrong](const std::optional<error>& failed) {
    if (!wrong) wrong = failed;
  };
  const auto written = [&keep](const rubato::result<std::uint64_t>& done) {
    if (!done) keep(done.error());
  };
  if (!o_.server.checkpoint.empty()) written(here.save());
  if (!o_.model.empty()) written(work_->save(o_.model));
  here.decide().inspect([this, &keep, &written](auto& sync) {
    if (sync.watcher().log) written(sync.watcher().log->sink().commit());
    if (flight_) keep(flight_->write());
  });
  std::printf("ended at version %llu after %.3f s\n", wide(here.decide().version()), here.decide().seconds());
  tell_drops();
  const task::verdict quality = work_->judge();
  std::printf("loss %.5f", quality.loss);
  if (quality.accuracy >= 0) std::printf(", accuracy %.2f %%", 100 * quality.accuracy);
  std::printf("\n");
  if (!o_.report.empty()) keep(write_report(quality));
  return wrong;
}

// Writes the flight record if somebody wants to see it.
void served_job::look_for_flight() {
  if (!flight_ || !flight_->asked()) return;
  const auto wrong = server().decide().inspect([&](auto&) { return flight_->write(); });
  std::printf("%s\n", wrong ? wrong->message.c_str() : "flight record written");
}

// Says every five seconds who is waited for, until the job begins.
void served_job::look_for_quorum() {
  if (begun_ || ps::steady::now() < next_quorum_) return;
  begun_ = server().decide().inspect([](auto& sync) { return sync.watcher().begun; });
  const ps::job_options& job = o_.server.job;
  if (!begun_)
    std::printf("%u workers are here; nobody runs before there are %u (--quorum)\n", server().connected(),
                job.quorum > 0 ? job.quorum : job.workers);
  next_quorum_ = ps::after(5);
}

// An operator's; false if nobody is connected under this index.
bool served_job::evict(std::uint32_t index) {
  const std::optional<rubato::worker_id> gone = server().evict(index);
  if (gone) evicted_[index] = gone->incarnation;
  return gone.has_value();
}

// One command: "policy NAME", "evict INDEX", "save" or "stop".
void served_job::obey(const std::string& command) {
  std::istringstream words{command};
  std::string verb, argument, more;
  words >> verb >> argument >> more;
  const bool alone = argument.empty();
  if (verb == "stop" && alone) return server().close();
  if (verb == "save" && alone) {
    const auto saved = server().save();
    std::printf("%s\n", saved ? "checkpoint written" : saved.error().message.c_str());
    return;
  }
  if (verb == "evict" && more.empty()) {
    std::uint32_t index = rubato::no_worker;
    const char* const end = argument.data() + argument.size();
    const auto [last, bad] = std::from_chars(argument.data(), end, index);
    const bool gone = bad == std::errc{} && last == end && evict(index);
    const std::string who = rubato::is_plain(argument) ? argument : rubato::in_quotes(argument);
    std::printf(gone ? "worker %s is taken out\n" : "no worker %s is connected\n", who.c_str());
    return;
  }
  const auto rule =
      verb == "policy" && more.empty() ? policy_named(argument, o_.server.job.nominal_samples) : std::nullopt;
  if (!rule) {
    std::printf("command refused: %s, expected policy NAME, evict INDEX, save or stop; NAME: %s\n",
                rubato::in_quotes(command).c_str(), policy_names);
    return;
  }
  if (const auto changed = server().decide().switch_to({argument, *rule}); !changed)
    return void(std::printf("policy refused: %s\n", changed.error().message.c_str()));
  server().decide().inspect([this](auto& sync) {  // records say that it has changed, not to what
    if (auto& log = sync.watcher().log) log->policy(sync.policy(), server().decide().seconds());
    if (auto& flight = sync.watcher().flight) flight->describe(sync.policy());
  });
}

// Carries out and removes the control file, if there is one.
void served_job::look_for_commands() {
  if (o_.control.empty()) return;
  if (::access(o_.control.c_str(), F_OK) != 0) return control_trouble_.clear();
  const auto orders = read_control(o_.control);
  if (!orders) {  // which is left alone: said once
    if (std::exchange(control_trouble_, orders.error().message) != orders.error().message)
      std::printf("%s\n", control_trouble_.c_str());
    return;
  }
  control_trouble_.clear();
  ::unlink(o_.control.c_str());
  std::istringstream lines{*orders};
  for (std::string line; std::getline(lines, line);)
    if (!line.empty()) obey(line);
}

// Prints the pause of each change of the policy, once it is known.
void served_job::tell_changes() {
  const auto changes = server().decide().changes();
  for (; told_changes_ < changes.size() && changes[told_changes_].pause >= 0; ++told_changes_)
    std::printf("switched %s -> %s: %.6f s from the last push before to the first release after\n",
                changes[told_changes_].from.c_str(), changes[told_changes_].to.c_str(), changes[told_changes_].pause);
}

// Of the whole job, with the lives before this one if it was restored.
void served_job::tell_drops() {
  using rubato::reason;
  std::string text;
  server().decide().inspect([&text](const auto& sync) {
    for (const reason why : {reason::non_finite, reason::failed, reason::stale, reason::unwanted, reason::cancelled,
                             reason::excluded, reason::switched})
      if (const std::uint64_t count = sync.counts().total(why); count > 0)
        text += (text.empty() ? "" : ", ") + std::string{name(why)} + " " + std::to_string(count);
  });
  if (!text.empty()) std::printf("gradients without effect: %s\n", text.c_str());
}

// Takes out whom the detector finds, and says so.
void served_job::evict_stragglers() {
  const auto gone = ps::evict_straggler(
      server(), [](watcher & all) -> auto& { return *all.stragglers; });
  if (!gone) return;
  std::printf("worker %u, incarnation %u, is taken out at %.3f s: its steps take %.4g s, the median %.4g s\n",
              gone->of.who.index, gone->of.who.incarnation, gone->at, gone->of.step_time, gone->of.median);
  stragglers_.push_back(*gone);
  evicted_[gone->of.who.index] = gone->of.who.incarnation;
}

// Workers that have finished, and those that were taken out and have not come back.
std::uint64_t served_job::finished() {
  std::uint64_t all = server().ends(ps::session_end::done);
  server().decide().inspect([&](const auto& sync) {
    for (const auto& [index, incarnation] : evicted_)
      all +=
          sync.workers()[index].incarnation == incarnation && sync.workers()[index].state == rubato::worker_state::left;
  });
  return all;
}

std::optional<rubato::error> served_job::write_report(const task::verdict& quality) {
  server_type& here = server();
  const std::span<const float> parameters = work_->parameters();
  auto file = rubato::atomic_file::create(o_.report);
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
  for (const ps::eviction& e : stragglers_)
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
