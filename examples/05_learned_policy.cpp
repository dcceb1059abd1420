// The policy that ships in a server: what rubato::learned_policy has to be told with each push, and what the host does
// with the rate and the batch that it answers.
//
// Eight workers on three cores train a logistic regression in virtual time, under asp, knee, and the learned policy.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <map>
#include <random>
#include <rubato/rubato.hpp>
#include <type_traits>

using weights = std::array<float, 32>;

float dot(const weights& a, const weights& b) {
  float sum = 0.0F;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// Points in two classes, which a plane divides, but for some noise.
class problem {
 public:
  problem() {
    for (float& w : truth_) w = normal_(random_);
  }

  // Mean loss of so many new points at these parameters; their mean gradient goes to `gradient`.
  double draw(const weights& at, std::uint32_t samples, weights& gradient) {
    gradient = {};
    double loss = 0.0;
    for (std::uint32_t n = 0; n < samples; ++n) {
      weights x;
      for (float& each : x) each = normal_(random_);
      const float label = dot(truth_, x) + 2.0F * normal_(random_) > 0.0F ? 1.0F : -1.0F;
      const float margin = label * dot(at, x);
      loss += std::log1p(std::exp(-static_cast<double>(margin))) / samples;
      const float slope = -label / (1.0F + std::exp(margin)) / static_cast<float>(samples);
      for (std::size_t i = 0; i < x.size(); ++i) gradient[i] += slope * x[i];
    }
    return loss;
  }

 private:
  std::mt19937 random_{7};
  std::normal_distribution<float> normal_;
  weights truth_{};
};

constexpr std::uint32_t workers = 8, cores = 3, own_batch = 16;
constexpr float learning_rate = 0.2F;
constexpr double goal = 0.25;  // of the average loss

// The sink: whom the controller releases computes at once, from the parameters as they are.
struct host {
  struct step {
    std::uint32_t worker;
    rubato::grant granted;  // under which it computes
    std::uint32_t batch;
    weights read;
  };
  double now = 0.0;
  weights parameters{};
  std::multimap<double, step> running;  // by the time of arrival

  void release(int, rubato::worker_id who, const rubato::grant& terms) {
    const std::uint32_t batch = terms.batch != 0 ? terms.batch : own_batch;  // it asks for a batch, or leaves it to you
    const double crowd = std::max(1.0, static_cast<double>(running.size() + 1) / cores);
    const double takes = 0.1 + crowd * batch / own_batch * (1.0 + 0.05 * who.index);
    running.emplace(now + takes, step{who.index, terms, batch, parameters});
  }
  void flush(std::uint64_t, float, std::uint32_t) {}  // these policies apply each gradient by itself
  void discard(std::uint64_t, std::uint32_t) {}
  void abandon(int, rubato::worker_id, rubato::reason) {}
};

// Until the loss is there; false if the controller refused a call.
template <class Policy>
bool train(const char* name) {
  problem data;
  host here;
  rubato::controller<Policy, int> sync{{.capacity = workers}, Policy{}};
  rubato::loss_average average;
  std::array<std::uint64_t, workers> steps{};
  std::uint64_t pushes = 0, samples = 0;

  for (std::uint32_t w = 0; w < workers; ++w)  // the last one that joins starts all of them
    if (sync.join({w}, here.now, 0, here) != rubato::errc::ok) return false;
  while (pushes == 0 || average.value() > goal) {
    const double next = here.running.begin()->first;
    if (sync.next_deadline() <= next) {  // a policy may want to be asked when nobody pushes
      here.now = std::max(here.now, sync.next_deadline());
      sync.poll(here.now, here);
      continue;
    }
    const host::step done = here.running.extract(here.running.begin()).mapped();
    here.now = next;
    weights gradient;
    const double loss = data.draw(done.read, done.batch, gradient);

    const rubato::admitted answer = sync.admit({.worker = {done.worker},
                                                .now = here.now,
                                                .step = ++steps[done.worker],
                                                .samples = done.batch,                        // as many as it had
                                                .loss = static_cast<float>(average(loss))});  // of all workers
    if (answer.what.what == rubato::verdict::apply) {
      const float weight = rubato::applied_weight(done.granted, answer.what.weight, done.batch, own_batch);
      for (std::size_t i = 0; i < gradient.size(); ++i) here.parameters[i] -= learning_rate * weight * gradient[i];
    }
    if (sync.commit(answer.work, here.now, rubato::outcome::done, 0, here) != rubato::errc::ok) return false;
    ++pushes, samples += done.batch;
  }

  std::printf("%-8s loss %.2f after %5.1f: %3llu pushes of %4.1f samples", name, goal, here.now,
              static_cast<unsigned long long>(pushes), static_cast<double>(samples) / static_cast<double>(pushes));
  if constexpr (std::is_same_v<Policy, rubato::learned_policy>) {
    const auto degraded = sync.counts().total(rubato::reason::degraded);
    std::printf("; the network is %sin charge, and gave up %llu times", sync.policy().corrects() ? "" : "not ",
                static_cast<unsigned long long>(degraded));
  }
  std::printf("\n");
  return true;
}

int main() {
  const bool done =
      train<rubato::asp>("asp") && train<rubato::knee>("knee") && train<rubato::learned_policy>("learned");
  return done ? 0 : 1;
}
