#ifndef RUBATO_LIBTORCH_OPTIMIZER_RULE_HPP
#define RUBATO_LIBTORCH_OPTIMIZER_RULE_HPP

#include <torch/optim.h>
#include <torch/serialize/archive.h>
#include <torch/types.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <rubato/core/result.hpp>
#include <rubato/threads_ps/any_rule.hpp>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sentence.hpp"
#include "tensor_over.hpp"

namespace rubato::inline RUBATO_ABI::libtorch {

/// A torch optimizer as the rule by which the shards of a parameter server move their slices.
///
///     auto rule = libtorch::optimizer_rule::of<torch::optim::Adam>(torch::optim::AdamOptions(1e-3));
///
/// Each shard has an optimizer of its own, over its slice as one tensor that lies where the slice does. So the
/// optimizer must treat each number by itself, as SGD, Adam, AdamW, RMSprop and Adagrad do: what lies in which shard
/// makes no difference then. LBFGS does not, and is refused.
///
/// The optimizer gets the mean gradient, and its learning rate times the weight of the step (update_step): a grant of
/// half a batch, or with a learning rate scale of a half, is a step of half the length, by Adam as well as by SGD. A
/// `schedule` is one more factor, by how many updates were made before; it is called by all shards, at the same time,
/// and by make() and restore(), which try a step on numbers of their own.
///
/// An optimizer must leave the gradient that it is given as it is: it is the worker's, and other shards read on.
/// torch's do; one of yours that clips has to clip a copy. The gradient is in grad() only while it makes its step.
///
/// Copies  begin anew: an optimizer belongs to one shard. Factory and schedule are shared by all of them.
/// Throws  what the optimizer throws
/// Thread  as the shard: one at a time
/// Tests   tests/integrations/libtorch/optimizer_rule_test.cpp
class optimizer_rule {
 public:
  /// Makes an optimizer over the one tensor that it is given. Called for each shard, and to try it, from any thread.
  using factory = std::function<std::unique_ptr<torch::optim::Optimizer>(std::vector<torch::Tensor>)>;
  /// Factor on the learning rate of the next update, of which `updates` were made before. Called from any thread.
  using schedule = std::function<double(std::uint64_t updates)>;

  /// Errors  invalid_option: it makes no optimizer, or one that cannot step without a closure; with torch's sentence
  [[nodiscard]] static result<optimizer_rule> make(factory make_optimizer, schedule factor = {}) {
    optimizer_rule made{std::move(make_optimizer), std::move(factor)};
    try {
      optimizer_rule tried = made;
      float gradient = 0;
      float value = 0;
      tried.update({&value, 1}, {.direction = {&gradient, 1}});
    } catch (const std::exception& e) {
      return error{errc::invalid_option, "optimizer: " + sentence_of(e)};
    }
    return made;
  }
  /// An optimizer by its type and options.
  template <class Optimizer, class Options>
  [[nodiscard]] static result<optimizer_rule> of(Options options, schedule factor = {}) {
    return make(
        [options](std::vector<torch::Tensor> over) { return std::make_unique<Optimizer>(std::move(over), options); },
        std::move(factor));
  }

  /// Another shard's: without what this one's optimizer remembers.
  optimizer_rule(const optimizer_rule& other)
      : factory_{other.factory_}, schedule_{other.schedule_}, size_{other.size_} {}
  optimizer_rule(optimizer_rule&&) noexcept = default;  ///< with the optimizer
  /// Of a copy, or of what is moved.
  optimizer_rule& operator=(optimizer_rule other) noexcept {
    std::swap(factory_, other.factory_), std::swap(schedule_, other.schedule_), std::swap(size_, other.size_);
    std::swap(saved_, other.saved_), std::swap(now_, other.now_);
    return *this;
  }
  ~optimizer_rule() = default;

  void resize(std::size_t size) noexcept { size_ = size; }  ///< see threads_ps::UpdateRule; makes no optimizer yet
  /// See threads_ps::UpdateRule. The first one makes the optimizer; a slice that has moved is followed.
  void update(std::span<float> values, const threads_ps::update_step& step) {
    if (!now_ || now_->over.data() != values.data()) bind(values);
    const torch::NoGradGuard no_graph;
    torch::Tensor gradient = tensor_over({const_cast<float*>(step.direction.data()), step.direction.size()});
    if (step.weight != 1 && step.weight != 0)
      gradient = at::mul_out(now_->mean, gradient, at::scalar_tensor(1 / step.weight));
    now_->parameters.mutable_grad() = gradient;
    const double weight = step.weight == 0 ? 1.0 : static_cast<double>(step.scale) * static_cast<double>(step.weight);
    set_rates(weight * (schedule_ ? schedule_(now_->updates) : 1.0));
    now_->optimizer->step();
    now_->parameters.mutable_grad().reset();
    ++now_->updates;
  }

  /// The number of updates, and what the optimizer remembers, as torch writes it.
  [[nodiscard]] std::string state() const {
    if (!now_) return saved_;
    std::ostringstream text;
    torch::serialize::OutputArchive archive;
    now_->optimizer->save(archive);
    archive.write("updates", torch::tensor(static_cast<std::int64_t>(now_->updates)), true);
    archive.save_to(text);
    return text.str();
  }
  /// False, and nothing has changed: not the state of such an optimizer for as many parameters.
  [[nodiscard]] bool restore(std::string_view bytes) {
    optimizer_rule tried = *this;
    std::vector<float> values(size_);
    try {
      tried.saved_ = bytes;
      tried.bind(values);
      tried.update(values, {.direction = values});  // torch looks at shapes only when it computes
    } catch (const std::exception&) {
      return false;
    }
    saved_ = bytes;
    now_.reset();
    return true;
  }

 private:
  // What exists once the slice is known.
  struct state_of_slice {
    std::span<float> over;
    torch::Tensor parameters, mean;
    std::unique_ptr<torch::optim::Optimizer> optimizer;
    std::vector<double> rates;  // as the factory has set them, of each group
    std::uint64_t updates = 0;
  };

  optimizer_rule(factory make_optimizer, schedule factor)
      : factory_{std::move(make_optimizer)}, schedule_{std::move(factor)} {}

  void bind(std::span<float> values) {
    if (now_) {  // the slice has moved
      now_->over = values;
      return now_->parameters.set_data(tensor_over(values));
    }
    auto made = std::make_unique<state_of_slice>();
    made->over = values;
    made->parameters = tensor_over(values);
    made->mean = torch::empty({0});  // as large as the slice once a round needs it
    made->optimizer = factory_(std::vector<torch::Tensor>{made->parameters});
    TORCH_CHECK(made->optimizer != nullptr, "the factory made none");
    TORCH_CHECK(dynamic_cast<torch::optim::LBFGS*>(made->optimizer.get()) == nullptr,
                "LBFGS does not treat each parameter by itself, expected one that does");
    for (torch::optim::OptimizerParamGroup& group : made->optimizer->param_groups())
      made->rates.push_back(group.options().get_lr());
    if (!saved_.empty()) go_on(*made);
    now_ = std::move(made);
    saved_.clear();
  }
  void go_on(state_of_slice& made) const {
    std::istringstream text{saved_};
    torch::serialize::InputArchive archive;
    archive.load_from(text);
    torch::Tensor updates;
    archive.read("updates", updates, true);
    made.optimizer->load(archive);
    made.updates = static_cast<std::uint64_t>(updates.item<std::int64_t>());
  }
  void set_rates(double factor) {
    std::size_t nth = 0;
    for (torch::optim::OptimizerParamGroup& group : now_->optimizer->param_groups())
      group.options().set_lr(now_->rates[nth++] * factor);
  }

  factory factory_;
  schedule schedule_;
  std::size_t size_ = 0;
  std::string saved_;  // the state to go on from, once the slice is known
  std::unique_ptr<state_of_slice> now_;
};

static_assert(threads_ps::SavableRule<optimizer_rule>);

}  // namespace rubato::inline RUBATO_ABI::libtorch

#endif
