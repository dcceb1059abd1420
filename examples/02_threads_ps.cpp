// A parameter server in one process: threads train one linear regression, as fast as a policy lets them.
//
//     02_threads_ps [--policy asp|bsp|bsp:sum|knee|ssp:S|ssp:S:rlp] [--workers N] [--seconds T] [--log FILE]
//                   [--trace FILE]
//
// Every fourth worker straggles, worker 0 sends a broken gradient now and then, the last but one dies in the middle
// without a word, and the last one comes late. What a host has to do is in `server`: one mutex around the controller,
// none of the arithmetic under it, effects in their order, and every ticket answered.
#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <rubato/core/rng.hpp>
#include <rubato/io/atomic_file.hpp>
#include <rubato/io/chrome_trace.hpp>
#include <rubato/io/decision_log.hpp>
#include <rubato/rubato.hpp>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

constexpr std::size_t dimension = 64;
constexpr std::uint32_t batch_size = 16;
constexpr float learning_rate = 0.01F;
using values = std::array<float, dimension>;

struct sample {
  values input;
  float target;
};

// Squared error of one sample; adds its gradient to `slope`.
float learn(const values& weights, const sample& s, values& slope) {
  float error = -s.target;
  for (std::size_t i = 0; i < dimension; ++i) error += weights[i] * s.input[i];
  for (std::size_t i = 0; i < dimension; ++i) slope[i] += error * s.input[i];
  return 0.5F * error * error;
}

std::vector<sample> make_samples(std::size_t count) {
  rubato::random_sequence random{1};
  const auto normal = [&] { return static_cast<float>(random.normal()); };
  values truth;
  for (float& t : truth) t = normal();
  std::vector<sample> all(count);
  for (sample& s : all) {
    s.target = 0.1F * normal();
    for (std::size_t i = 0; i < dimension; ++i) s.target += truth[i] * (s.input[i] = normal());
  }
  return all;
}

// What is trained, and the sums of the rounds that are still open. Thread-safe.
class parameters {
 public:
  values read() {
    const std::lock_guard guard{lock_};
    return weights_;
  }
  void apply(const values& gradient, float weight) {
    const std::lock_guard guard{lock_};
    move(gradient, weight);
  }
  void add(std::uint64_t round, const values& gradient, float weight) {
    const std::lock_guard guard{lock_};
    for (std::size_t i = 0; i < dimension; ++i) rounds_[round][i] += weight * gradient[i];
  }
  void flush(std::uint64_t round, float scale) {
    const std::lock_guard guard{lock_};
    move(rounds_[round], scale);
    rounds_.erase(round);
  }
  void discard(std::uint64_t round) {
    const std::lock_guard guard{lock_};
    rounds_.erase(round);
  }

 private:
  void move(const values& direction, float length) {
    for (std::size_t i = 0; i < dimension; ++i) weights_[i] -= learning_rate * length * direction[i];
  }
  std::mutex lock_;
  values weights_{};
  std::map<std::uint64_t, values> rounds_;
};

// Where a worker waits for its next grant, or for the news that there will be none. Its address is the worker's ticket.
class mailbox {
 public:
  void put(std::optional<rubato::grant> letter) {
    const std::lock_guard guard{lock_};
    letter_ = letter, arrived_ = true;
    arrival_.notify_one();
  }
  std::optional<rubato::grant> take() {
    std::unique_lock guard{lock_};
    arrival_.wait(guard, [&] { return arrived_; });
    arrived_ = false;
    return letter_;
  }

 private:
  std::mutex lock_;
  std::condition_variable arrival_;
  std::optional<rubato::grant> letter_;
  bool arrived_ = false;
};

// The log and the timeline, if they are wanted.
struct watcher {
  std::optional<rubato::decision_log<rubato::atomic_file>> log{};
  std::optional<rubato::chrome_trace> trace{};
  void operator()(const rubato::record& r) noexcept {
    if (log) (*log)(r);
    if (trace) (*trace)(r);
  }
  void answered(const rubato::event& asked, const rubato::decision& answer, const rubato::insight& by) noexcept {
    if (trace) trace->answered(asked, answer, by);
  }
};

class server {
 public:
  server(std::uint32_t workers, rubato::any_policy policy, watcher observer)
      : sync_{{.capacity = workers, .quorum = workers - 1}, std::move(policy), std::move(observer)} {}

  // Refusals need no care here: the controller counts them, and gives the ticket back (host::abandon).
  void join(rubato::worker_id who, mailbox* box) {
    call([&](double now) {
      if (closed_)
        box->put({});
      else
        static_cast<void>(sync_.join(who, now, box, effects_));
    });
  }
  void depart(rubato::worker_id who, rubato::cause why) {
    call([&](double now) { static_cast<void>(sync_.depart(who, now, why, effects_)); });
  }
  // A gradient: verdict, arithmetic, commit. The worker's next grant comes into its mailbox. Returns the staleness.
  std::uint64_t push(rubato::push_event event, const values& gradient, const rubato::grant& terms, mailbox* box) {
    rubato::admitted answer;
    {
      const std::lock_guard guard{sync_lock_};
      event.now = seconds();  // read under the mutex, so that it never runs back
      answer = sync_.admit(event);
    }
    const float weight = rubato::applied_weight(terms, answer.what.weight, event.samples, batch_size);
    if (answer.what.what == rubato::verdict::apply) model_.apply(gradient, weight);
    if (answer.what.what == rubato::verdict::accumulate) model_.add(answer.round, gradient, weight);
    call([&](double now) { static_cast<void>(sync_.commit(answer.work, now, rubato::outcome::done, box, effects_)); });
    return answer.staleness;
  }
  // To be called now and then: does what is due.
  void poll() {
    call([&](double now) {
      if (sync_.next_deadline() <= now) sync_.poll(now, effects_);
    });
  }
  // Training is over: whoever waits learns it now, whoever computes when it pushes.
  void close() {
    call([&](double now) {
      closed_ = true;
      for (std::uint32_t w = 0; w < sync_.workers().capacity(); ++w)
        static_cast<void>(sync_.depart(sync_.workers().id(w), now, rubato::cause::done, effects_));
    });
  }

  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }
  [[nodiscard]] parameters& model() { return model_; }
  [[nodiscard]] auto& decisions() { return sync_; }  // once the threads have ended

 private:
  struct host {
    parameters& model;
    void release(mailbox* box, rubato::worker_id, const rubato::grant& terms) { box->put(terms); }
    void flush(std::uint64_t round, float scale, std::uint32_t) { model.flush(round, scale); }
    void discard(std::uint64_t round, std::uint32_t) { model.discard(round); }
    void cancel(rubato::worker_id) {}  // steps are short
    void abandon(mailbox* box, rubato::worker_id, rubato::reason) { box->put({}); }
  };

  // Effects of all threads are carried out in the order in which they were decided, but not under the controller's
  // mutex: whoever gets hold of deliver_lock_ delivers all there is, its own included.
  template <class Call>
  void call(Call&& decide) {
    {
      const std::lock_guard guard{sync_lock_};
      decide(seconds());
    }
    const std::lock_guard delivering{deliver_lock_};
    {
      const std::lock_guard guard{sync_lock_};
      std::swap(effects_, outgoing_);
    }
    outgoing_.deliver(host{model_});
  }

  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  parameters model_;
  std::mutex sync_lock_;  // guards sync_, effects_, closed_; never taken by the host's callbacks
  rubato::controller<rubato::any_policy, mailbox*, watcher> sync_;
  rubato::outbox<mailbox*> effects_;
  bool closed_ = false;
  std::mutex deliver_lock_;  // guards outgoing_
  rubato::outbox<mailbox*> outgoing_;
};

struct worker {
  rubato::worker_id id{};
  double dies_at = std::numeric_limits<double>::infinity();
  std::atomic<bool> crashed = false;  // what a broken connection tells
  std::uint64_t steps = 0, stalest = 0;
  double waited = 0.0, staleness = 0.0;
  mailbox box{};
  std::thread thread{};

  void run(server& ps, const std::vector<sample>& data) {
    rubato::random_sequence random{2, id.index};
    for (ps.join(id, &box);;) {
      const double asked = ps.seconds();
      const std::optional<rubato::grant> terms = box.take();
      waited += ps.seconds() - asked;
      if (!terms) return;
      if (ps.seconds() > dies_at) return crashed.store(true);  // others may be waiting for this very step

      const values weights = ps.model().read();
      values slope{};
      float loss = 0.0F;
      for (std::uint32_t i = 0; i < batch_size; ++i) loss += learn(weights, data[random.below(data.size())], slope);
      for (float& g : slope) g /= batch_size;
      if (id.index == 0 && steps % 50 == 49) loss = std::numeric_limits<float>::quiet_NaN();
      const bool straggles = id.index % 4 == 1 && random.uniform() < 0.5;
      std::this_thread::sleep_for(std::chrono::milliseconds{straggles ? 6 : 1});

      const rubato::push_event event{.worker = id, .step = ++steps, .samples = batch_size, .loss = loss / batch_size};
      const std::uint64_t stale = ps.push(event, slope, *terms, &box);
      staleness += static_cast<double>(stale);
      stalest = std::max(stalest, stale);
    }
  }
};

float mean_loss(parameters& model, const std::vector<sample>& data) {
  values unused{};
  float sum = 0.0F;
  for (const sample& s : data) sum += learn(model.read(), s, unused);
  return sum / static_cast<float>(data.size());
}

template <class Number>
std::optional<Number> number(std::string_view text, Number least, Number most) {
  Number n{};
  const auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), n);
  return bad == std::errc{} && end == text.data() + text.size() && n >= least && n <= most ? std::optional{n}
                                                                                           : std::nullopt;
}

std::optional<rubato::any_policy> policy_named(std::string_view name) {
  if (name == "asp") return rubato::asp{};
  if (name == "knee") return rubato::knee{};
  if (name == "bsp") return rubato::bsp{};
  if (name == "bsp:sum") return rubato::bsp{.aggregate = rubato::bsp::sum};
  if (!name.starts_with("ssp:")) return std::nullopt;
  const bool rlp = name.ends_with(":rlp");
  const auto s =
      number<rubato::clock_type>(name.substr(4, name.size() - (rlp ? 8 : 4)), rlp ? 1 : 0, rubato::unbounded);
  if (!s) return std::nullopt;
  return rlp ? rubato::ssp_rlp(*s) : rubato::ssp{.staleness = *s};
}

int complain(const std::string& what, int status = 2) {
  std::fprintf(stderr, "02_threads_ps: %s\n", what.c_str());
  return status;
}

int help() {
  std::printf(
      "usage: 02_threads_ps [--policy asp|bsp|bsp:sum|knee|ssp:S|ssp:S:rlp] [--workers N] [--seconds T] [--log FILE]\n"
      "                     [--trace FILE]\n"
      "A parameter server in one process: threads train one linear regression, as fast as a policy lets them.\n");
  return 0;
}

void print_table(const std::deque<worker>& workers, const rubato::counters& counts) {
  std::printf("worker  steps  waited (s)  staleness mean  max  dropped\n");
  for (const worker& w : workers) {
    const double mean = w.steps == 0 ? 0.0 : w.staleness / static_cast<double>(w.steps);
    std::printf("%6u %6llu  %10.3f  %14.2f %4llu ", w.id.index, static_cast<unsigned long long>(w.steps), w.waited,
                mean, static_cast<unsigned long long>(w.stalest));
    for (auto why = rubato::reason::stale; why <= rubato::reason::unwanted;
         why = static_cast<rubato::reason>(static_cast<int>(why) + 1))
      if (const std::uint32_t n = counts.of(w.id.index, why); n > 0) std::printf(" %u %s", n, name(why).data());
    std::printf(w.crashed ? "  (died)\n" : "\n");
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::map<std::string, std::string> given{
      {"--policy", "ssp:3"}, {"--workers", "8"}, {"--seconds", "1.5"}, {"--log", ""}, {"--trace", ""}};
  for (int i = 1; i < argc; i += 2) {
    if (std::string_view{argv[i]} == "--help") return help();
    if (!given.contains(argv[i])) return complain("unknown option " + std::string{argv[i]});
    if (i + 1 == argc) return complain(std::string{argv[i]} + " needs a value");
    given[argv[i]] = argv[i + 1];
  }
  const auto policy = policy_named(given["--policy"]);
  if (!policy)
    return complain("--policy " + given["--policy"] +
                    ": expected asp, bsp, bsp:sum, knee, ssp:S or ssp:S:rlp (S >= 1)");
  const auto count = number<std::uint32_t>(given["--workers"], 3, 512);
  if (!count) return complain("--workers " + given["--workers"] + ": expected a number from 3 to 512");
  const auto duration = number<double>(given["--seconds"], 0.1, 3600.0);
  if (!duration) return complain("--seconds " + given["--seconds"] + ": expected a number from 0.1 to 3600");

  watcher observer;
  std::optional<rubato::atomic_file> timeline;
  for (const char* option : {"--log", "--trace"}) {
    if (given[option].empty()) continue;
    auto file = rubato::atomic_file::create(given[option]);
    if (!file) return complain(option + (" " + file.error().message));
    if (option == std::string_view{"--log"})
      observer.log.emplace(std::move(*file), *policy);
    else
      timeline.emplace(std::move(*file)), observer.trace.emplace(rubato::chrome_trace_options{.workers = *count});
  }

  const std::vector<sample> data = make_samples(2'000);
  server ps{*count, *policy, std::move(observer)};
  std::printf("%s\n%u workers, %.1f s\n\n", policy->describe().line.c_str(), *count, *duration);
  const float loss_before = mean_loss(ps.model(), data);
  std::deque<worker> workers(*count);
  for (std::uint32_t w = 0; w < *count; ++w) workers[w].id = {w, 0};
  workers[*count - 2].dies_at = 0.5 * *duration;
  const auto launch = [&](worker& w) { w.thread = std::thread{[&] { w.run(ps, data); }}; };
  for (std::uint32_t w = 0; w + 1 < *count; ++w) launch(workers[w]);

  while (ps.seconds() < *duration) {  // what a cluster's supervisor does
    std::this_thread::sleep_for(std::chrono::milliseconds{5});
    ps.poll();
    if (!workers.back().thread.joinable() && ps.seconds() > 0.25 * *duration) launch(workers.back());
    if (worker& w = workers[*count - 2]; w.crashed && w.thread.joinable()) {
      w.thread.join();
      ps.depart(w.id, rubato::cause::death);
    }
  }
  ps.close();
  for (worker& w : workers)
    if (w.thread.joinable()) w.thread.join();

  auto& sync = ps.decisions();
  print_table(workers, sync.counts());
  std::printf("\nupdates %llu, overrides by the guard %llu, loss %.4f -> %.4f\n",
              static_cast<unsigned long long>(sync.version()),
              static_cast<unsigned long long>(sync.counts().overrides()), static_cast<double>(loss_before),
              static_cast<double>(mean_loss(ps.model(), data)));
  if (sync.watcher().log)
    if (const auto done = sync.watcher().log->sink().commit(); !done) return complain(done.error().message, 1);
  if (!timeline) return 0;
  sync.watcher().trace->write(*timeline);
  const auto done = timeline->commit();
  return done ? 0 : complain(done.error().message, 1);
}
