// What torch_server and torch_worker train: a network on images, by torch. The rest of both is that of gloo_server and
// gloo_worker.
#include <torch/nn.h>

#include <exception>
#include <memory>
#include <rubato/libtorch/optimizer_rule.hpp>
#include <rubato/libtorch/replica.hpp>
#include <rubato/libtorch/state_file.hpp>
#include <string>
#include <utility>
#include <vector>

#include "../../gloo_ps/programs/task.hpp"
#include "images.hpp"
#include "nets.hpp"
#include "optimizers.hpp"

namespace lt = rubato::libtorch;
using rubato::errc;

namespace {

class image_task final : public task {
 public:
  using replica = lt::replica<torch::nn::Sequential>;

  image_task(std::uint64_t seed, std::unique_ptr<images> all, replica net)
      : seed_{seed}, images_{std::move(all)}, net_{std::move(net)} {}

  std::span<float> parameters() override { return net_.parameters(); }
  gradient compute(std::uint32_t worker, std::uint64_t step, std::uint32_t samples) override {
    const images::batch b = images_->draw(seed_, worker, step, samples);
    const torch::Tensor loss = torch::cross_entropy_loss(net_->forward(b.pixels), b.labels);
    return {.loss = loss.item<float>(), .mean = net_.gradient(loss)};
  }
  verdict judge() override {
    const judgement found = judged(net_.module(), *images_);
    return {.loss = found.loss, .accuracy = found.accuracy};
  }
  rubato::result<rubato::threads_ps::any_rule> rule(const rule_options& o) const override {
    auto made = optimizer_named(o.name, o.sgd.learning_rate, o.sgd.momentum);
    if (!made) return made.error();
    return rubato::threads_ps::any_rule{std::move(*made)};
  }
  bool has_file() const override { return true; }
  rubato::result<std::uint64_t> save(const std::string& path) override { return lt::save_state(path, *net_.module()); }

 private:
  std::uint64_t seed_;
  std::unique_ptr<images> images_;
  replica net_;
};

}  // namespace

const std::vector<std::string> task_names{"images"};
const bool tasks_have_sizes = false;  // the nets of torch_train, as they are
const double sleep_of_a_step = 0;

rubato::result<std::unique_ptr<task>> make_task(const task_options& o) {
  if (o.data.empty()) return rubato::error{errc::invalid_option, "--data: a folder with images is needed"};
  at::set_num_threads(1);
  torch::manual_seed(o.seed);
  try {
    auto all = std::make_unique<images>(o.data);
    auto net = image_task::replica::make(net_for(*all));
    if (!net) return net.error();
    return std::unique_ptr<task>{std::make_unique<image_task>(o.seed, std::move(all), std::move(*net))};
  } catch (const std::exception& e) {
    return rubato::error{errc::io, "--data " + lt::sentence_of(e)};
  }
}
