// RLtools with OpenBLAS on one thread, memory known to the compiler. It has no leaky ReLU, so this is with ReLU, which
// is less work; and no DQN, so an update is put together from its layers, its Adam and its gradients.
#include "dqn_update.hpp"
#include "network.hpp"

#include <rl_tools/operations/cpu_mux.h>

#include <rl_tools/nn/optimizers/adam/instance/operations_generic.h>

#include <rl_tools/nn/layers/dense/operations_cpu_openblas.h>
#include <rl_tools/nn/operations_cpu_mux.h>
#include <rl_tools/nn_models/sequential/operations_generic.h>

#include <rl_tools/nn/optimizers/adam/operations_generic.h>

#include <algorithm>
#include <stdexcept>

extern "C" void openblas_set_num_threads(int);

namespace rubato::bench {
namespace {

namespace rlt = rl_tools;
using policy = rlt::numeric_types::Policy<float>;
using device_type = rlt::devices::DEVICE_FACTORY<rlt::devices::DefaultCPUSpecification>;
using index = device_type::index_t;
using generator = device_type::SPEC::RANDOM::ENGINE<>;

template <index Outputs, rlt::nn::activation_functions::ActivationFunction F>
using dense =
    rlt::nn::layers::dense::BindConfiguration<rlt::nn::layers::dense::Configuration<policy, index, Outputs, F>>;
template <class Content, class Next = rlt::nn_models::sequential::OutputModule>
using module = rlt::nn_models::sequential::Module<Content, Next>;
using chain = module<dense<64, rlt::nn::activation_functions::RELU>,
                     module<dense<32, rlt::nn::activation_functions::RELU>,
                            module<dense<3, rlt::nn::activation_functions::IDENTITY>>>>;

template <class Capability, index Rows>
using model = rlt::nn_models::sequential::Build<Capability, chain, rlt::tensor::Shape<index, 1, Rows, 40>>;
template <index Rows>
using forward_model = model<rlt::nn::capability::Forward<false>, Rows>;
template <index Rows>
using gradient_model = model<rlt::nn::capability::Gradient<rlt::nn::parameters::Adam, false>, Rows>;
template <index Rows, index Columns>
using tensor =
    rlt::Tensor<rlt::tensor::Specification<float, index, rlt::tensor::Shape<index, 1, Rows, Columns>, false>>;

// Theirs are [outputs x inputs].
template <class Layer, class Visit>
void each(Layer& layer, Visit visit) {
  device_type device;
  for (index i = 0; i < Layer::INPUT_DIM; ++i)
    for (index j = 0; j < Layer::OUTPUT_DIM; ++j) visit(rlt::get_ref(device, layer.weights.parameters, j, i));
  for (index j = 0; j < Layer::OUTPUT_DIM; ++j) visit(rlt::get_ref(device, layer.biases.parameters, j));
}
template <class Model, class Visit>
void each_parameter(Model& of, Visit visit) {
  each(of.content, visit);
  each(of.next_module.content, visit);
  each(of.next_module.next_module.content, visit);
}

template <index Rows>
struct batch_of {
  device_type device;
  generator random;
  forward_model<Rows> net;
  typename forward_model<Rows>::template Buffer<false> buffer;
  tensor<Rows, 40> in;
  tensor<Rows, 3> out;

  explicit batch_of(const float* parameters) {
    openblas_set_num_threads(1);
    each_parameter(net, [&](float& x) { x = *parameters++; });
  }
  void run(const float* from, float* to) {
    std::copy_n(from, Rows * 40, rlt::data(in));
    rlt::evaluate(device, net, in, out, buffer, random);
    std::copy_n(rlt::data(out), Rows * 3, to);
  }
};

class network final : public network_peer {
 public:
  explicit network(const float* parameters) : one_{parameters}, some_{parameters}, many_{parameters} {}
  void evaluate(const float* in, float* out) override { one_.run(in, out); }
  void forward(std::size_t rows, const float* in, float* out) override {
    if (rows == 32) return some_.run(in, out);
    if (rows == 1024) return many_.run(in, out);
    for (std::size_t row = 0; row < rows; ++row) one_.run(in + 40 * row, out + 3 * row);
  }

 private:
  batch_of<1> one_;
  batch_of<32> some_;
  batch_of<1024> many_;
};

class updates final : public update_peer {
  using optimiser = rlt::nn::optimizers::Adam<rlt::nn::optimizers::adam::Specification<
      policy, index, rlt::nn::optimizers::adam::DEFAULT_PARAMETERS_PYTORCH<policy>, false>>;

 public:
  updates(const float* parameters, const replayed& replay, float learning_rate) : replay_{replay}, target_{parameters} {
    openblas_set_num_threads(1);
    const float* from = parameters;
    each_parameter(online_, [&](float& x) { x = *from++; });
    rlt::init(device_, adam_);
    auto options = rlt::get(device_, adam_.parameters, 0);
    options.alpha = learning_rate;
    options.epsilon_sqrt = 0;
    rlt::set(device_, adam_.parameters, options, 0);
    rlt::reset_optimizer_state(device_, adam_, online_);
  }

  void update(const std::uint32_t* transitions) override {
    float* const here = rlt::data(here_);
    float* const there = rlt::data(target_.in);
    for (std::size_t i = 0; i < update_batch; ++i) {
      std::copy_n(replay_.here + 40 * std::size_t{transitions[i]}, 40, here + 40 * i);
      std::copy_n(replay_.there + 40 * std::size_t{transitions[i]}, 40, there + 40 * i);
    }
    rlt::evaluate(device_, target_.net, target_.in, target_.out, target_.buffer, random_);
    rlt::zero_gradient(device_, online_);
    rlt::forward(device_, online_, here_, buffer_, random_);
    auto output = rlt::output(device_, online_);
    const float* const next = rlt::data(target_.out);
    float* const slope = rlt::data(slope_);
    for (std::size_t i = 0; i < update_batch; ++i) {
      const std::uint32_t t = transitions[i], action = replay_.action[t];
      const float best = std::max({next[3 * i], next[3 * i + 1], next[3 * i + 2]});
      const float aim = replay_.reward[t] + replay_.discount[t] * best;
      std::fill_n(slope + 3 * i, 3, 0.0F);
      slope[3 * i + action] = 2.0F / update_batch * (rlt::get(device_, output, 0, i, action) - aim);
    }
    rlt::backward(device_, online_, here_, slope_, buffer_);
    rlt::step(device_, adam_, online_);
  }
  void parameters(float* out) const override {
    each_parameter(const_cast<gradient_model<update_batch>&>(online_), [&](float& x) { *out++ = x; });
  }

 private:
  replayed replay_;
  device_type device_;
  generator random_;
  batch_of<update_batch> target_;
  gradient_model<update_batch> online_;
  gradient_model<update_batch>::Buffer<false> buffer_;
  optimiser adam_;
  tensor<update_batch, 40> here_;
  tensor<update_batch, 3> slope_;
};

}  // namespace

extern const network_library rltools{
    "rltools", 0.0F, true,
    [](const float* parameters) -> std::unique_ptr<network_peer> { return std::make_unique<network>(parameters); }};
extern const update_library rltools_update{
    "rltools", 0.0F,
    [](const float* parameters, const replayed& replay, float learning_rate) -> std::unique_ptr<update_peer> {
      return std::make_unique<updates>(parameters, replay, learning_rate);
    }};

}  // namespace rubato::bench
