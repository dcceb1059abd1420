#include "task.hpp"

#include <algorithm>
#include <exception>
#include <memory>
#include <rubato/core/rng.hpp>
#include <utility>

#ifdef RUBATO_GLOO_PS_IMAGES
#include <rubato/sim/sgd.hpp>

#include "support/image_files.hpp"
#endif

namespace {

class regression final : public task {
 public:
  explicit regression(const task_options& o)
      : seed_{o.seed}, truth_(o.dimension), weights_(o.dimension), input_(o.dimension), gradient_(o.dimension) {
    rubato::random_sequence random{seed_, truth_stream};
    for (float& t : truth_) t = static_cast<float>(random.normal());
  }
  std::span<float> parameters() override { return weights_; }
  gradient compute(std::uint32_t worker, std::uint64_t step, std::uint32_t samples) override {
    std::fill(gradient_.begin(), gradient_.end(), 0.0F);
    rubato::random_sequence random{seed_, worker, step << 24};
    double loss = 0;
    for (std::uint32_t i = 0; i < samples; ++i) {
      const float error = draw(random);
      loss += 0.5 * double{error} * double{error};
      const float weight = error / static_cast<float>(samples);
      for (std::size_t k = 0; k < gradient_.size(); ++k) gradient_[k] += weight * input_[k];
    }
    return {.loss = static_cast<float>(loss / samples), .mean = gradient_};
  }
  verdict judge() override {
    rubato::random_sequence random{seed_, test_stream};
    double sum = 0;
    for (int i = 0; i < 1000; ++i) {
      const double error = draw(random);
      sum += 0.5 * error * error;
    }
    return {.loss = sum / 1000};
  }

 private:
  static constexpr std::uint64_t truth_stream = ~std::uint64_t{1}, test_stream = ~std::uint64_t{2};

  // One sample into input_; the error of the prediction.
  float draw(rubato::random_sequence& random) {
    float error = 0.1F * static_cast<float>(random.normal());
    for (std::size_t k = 0; k < truth_.size(); ++k) {
      input_[k] = static_cast<float>(random.normal());
      error += (weights_[k] - truth_[k]) * input_[k];
    }
    return error;
  }

  std::uint64_t seed_;
  std::vector<float> truth_, weights_, input_, gradient_;
};

class count final : public task {
 public:
  explicit count(const task_options& o) : counts_(o.dimension), gradient_(o.dimension) {}
  std::span<float> parameters() override { return counts_; }
  gradient compute(std::uint32_t worker, std::uint64_t, std::uint32_t) override {
    std::fill(gradient_.begin(), gradient_.end(), 0.0F);
    gradient_[worker % gradient_.size()] = 1.0F;
    return {.loss = 0.5F, .mean = gradient_};
  }
  verdict judge() override { return {}; }

 private:
  std::vector<float> counts_, gradient_;
};

#ifdef RUBATO_GLOO_PS_IMAGES
// The simulator's objective.
class images final : public task {
 public:
  images(const task_options& o, rubato::support::image_set set)
      : set_{std::move(set)},
        prepared_{split(rubato::sim::dataset{set_.pixels, set_.labels, set_.inputs, set_.classes},
                        set_.training_samples(), set_.samples())},
        objective_{{.hidden_units = o.hidden_units,
                    .input = rubato::sim::input_scale::unit,
                    .data_fraction = 1,
                    .gradient_statistics = true},
                   prepared_} {
    objective_.reset(o.seed);
    gradient_.resize(objective_.parameters().size());
  }
  std::span<float> parameters() override { return objective_.parameters(); }
  gradient compute(std::uint32_t worker, std::uint64_t step, std::uint32_t samples) override {
    const rubato::sim::gradient g = objective_.compute(worker, step, std::min(samples, 65'535U));
    objective_.write_gradient(g.handle, gradient_);
    objective_.release(g.handle);
    return {.loss = g.loss,
            .mean = gradient_,
            .measured = {.accuracy = g.statistics.accuracy,
                         .gradient_variance = g.statistics.variance,
                         .gradient_square = g.statistics.square}};
  }
  verdict judge() override {
    const rubato::sim::evaluation e = objective_.evaluate();
    return {.loss = e.loss, .accuracy = e.accuracy};
  }

 private:
  rubato::support::image_set set_;
  rubato::sim::image_data prepared_;
  rubato::sim::sgd_objective objective_;
  std::vector<float> gradient_;
};
#endif

}  // namespace

const std::vector<std::string> task_names{"regression", "images", "count"};
const bool tasks_have_sizes = true;
const double sleep_of_a_step = 1;

rubato::result<std::unique_ptr<task>> make_task(const task_options& o) {
  using made = std::unique_ptr<task>;
  if (o.name == "regression") return made{std::make_unique<regression>(o)};
  if (o.name == "count") return made{std::make_unique<count>(o)};
  if (o.name != "images")
    return rubato::error{rubato::errc::invalid_option, "--task " + o.name + ": expected regression, images or count"};
#ifdef RUBATO_GLOO_PS_IMAGES
  try {
    if (o.data.empty()) return rubato::error{rubato::errc::invalid_option, "--task images: it needs --data FOLDER"};
    return made{std::make_unique<images>(o, rubato::support::read_image_set(o.data))};
  } catch (const std::exception& e) {
    return rubato::error{rubato::errc::io, std::string{"--data "} + e.what()};
  }
#else
  return rubato::error{rubato::errc::invalid_option, "--task images: built without zlib (Debian: zlib1g-dev)"};
#endif
}
