// libtorch on one thread: its modules called one after another, and the same frozen as TorchScript.
#include "dqn_update.hpp"
#include "network.hpp"

#include <cstring>
#include <torch/script.h>
#include <torch/torch.h>

namespace rubato::bench {
namespace {

constexpr std::int64_t widths[] = {40, 64, 32, 3};

torch::nn::Sequential sequential() {
  return torch::nn::Sequential{torch::nn::Linear{40, 64}, torch::nn::LeakyReLU{},   torch::nn::Linear{64, 32},
                               torch::nn::LeakyReLU{},    torch::nn::Linear{32, 3}};
}

// Theirs are [outputs x inputs].
void read(torch::nn::Sequential& net, const float* from) {
  torch::NoGradGuard no_gradients;
  for (std::size_t l = 0; l < 3; ++l) {
    auto* linear = net->ptr(2 * l)->as<torch::nn::Linear>();
    const std::int64_t in = widths[l], out = widths[l + 1];
    linear->weight.copy_(torch::from_blob(const_cast<float*>(from), {in, out}).t());
    linear->bias.copy_(torch::from_blob(const_cast<float*>(from) + in * out, {out}));
    from += out * (in + 1);
  }
}

void write(const torch::nn::Sequential& net, float* to) {
  torch::NoGradGuard no_gradients;
  for (std::size_t l = 0; l < 3; ++l) {
    const auto* linear = net->ptr(2 * l)->as<torch::nn::Linear>();
    const std::int64_t in = widths[l], out = widths[l + 1];
    torch::from_blob(to, {in, out}).copy_(linear->weight.t());
    torch::from_blob(to + in * out, {out}).copy_(linear->bias);
    to += out * (in + 1);
  }
}

void one_thread() {
  static const bool once = (at::set_num_threads(1), at::set_num_interop_threads(1), true);
  static_cast<void>(once);
}

template <class Forward>
class network : public network_peer {
 public:
  explicit network(Forward forward) : forward_{std::move(forward)} {}

  void evaluate(const float* in, float* out) override { forward(1, in, out); }
  void forward(std::size_t rows, const float* in, float* out) override {
    const c10::InferenceMode inference;
    const auto x = torch::from_blob(const_cast<float*>(in), {static_cast<std::int64_t>(rows), 40});
    const torch::Tensor y = forward_(x);
    std::memcpy(out, y.data_ptr<float>(), rows * peer_outputs * sizeof(float));
  }

 private:
  Forward forward_;
};

std::unique_ptr<network_peer> eager(const float* parameters) {
  one_thread();
  torch::nn::Sequential net = sequential();
  read(net, parameters);
  net->eval();
  auto forward = [net](const torch::Tensor& x) mutable { return net->forward(x); };
  return std::make_unique<network<decltype(forward)>>(forward);
}

std::unique_ptr<network_peer> scripted(const float* parameters) {
  one_thread();
  torch::nn::Sequential net = sequential();
  read(net, parameters);
  torch::jit::Module script{"network"};
  for (std::size_t l = 0; l < 3; ++l) {
    const auto* linear = net->ptr(2 * l)->as<torch::nn::Linear>();
    script.register_parameter("w" + std::to_string(l), linear->weight.detach().clone(), false);
    script.register_parameter("b" + std::to_string(l), linear->bias.detach().clone(), false);
  }
  script.define(R"(
def forward(self, x):
    h = torch.leaky_relu(torch.linear(x, self.w0, self.b0))
    g = torch.leaky_relu(torch.linear(h, self.w1, self.b1))
    return torch.linear(g, self.w2, self.b2)
)");
  script.eval();
  script = torch::jit::optimize_for_inference(script);  // freezes it first
  auto forward = [script](const torch::Tensor& x) mutable { return script.forward({x}).toTensor(); };
  return std::make_unique<network<decltype(forward)>>(forward);
}

class updates final : public update_peer {
 public:
  updates(const float* parameters, const replayed& replay, float learning_rate)
      : replay_{replay},
        online_{sequential()},
        target_{sequential()},
        adam_{online_->parameters(), torch::optim::AdamOptions{learning_rate}} {
    one_thread();
    read(online_, parameters);
    read(target_, parameters);
    here_ = torch::empty({update_batch, 40});
    there_ = torch::empty({update_batch, 40});
    action_ = torch::empty({update_batch, 1}, torch::kInt64);
    reward_ = torch::empty({update_batch});
    discount_ = torch::empty({update_batch});
  }

  void update(const std::uint32_t* transitions) override {
    float* const here = here_.data_ptr<float>();
    float* const there = there_.data_ptr<float>();
    for (std::size_t i = 0; i < update_batch; ++i) {
      const std::uint32_t t = transitions[i];
      std::memcpy(here + 40 * i, replay_.here + 40 * std::size_t{t}, 40 * sizeof(float));
      std::memcpy(there + 40 * i, replay_.there + 40 * std::size_t{t}, 40 * sizeof(float));
      action_.data_ptr<std::int64_t>()[i] = replay_.action[t];
      reward_.data_ptr<float>()[i] = replay_.reward[t];
      discount_.data_ptr<float>()[i] = replay_.discount[t];
    }
    torch::Tensor target;
    {
      torch::NoGradGuard no_gradients;
      target = torch::addcmul(reward_, discount_, std::get<0>(target_->forward(there_).max(1)));
    }
    const torch::Tensor value = online_->forward(here_).gather(1, action_).squeeze(1);
    const torch::Tensor loss = torch::mse_loss(value, target);
    adam_.zero_grad();
    loss.backward();
    adam_.step();
  }
  void parameters(float* out) const override { write(online_, out); }

 private:
  replayed replay_;
  torch::nn::Sequential online_, target_;
  torch::optim::Adam adam_;
  torch::Tensor here_, there_, action_, reward_, discount_;
};

std::unique_ptr<update_peer> updating(const float* parameters, const replayed& replay, float learning_rate) {
  return std::make_unique<updates>(parameters, replay, learning_rate);
}

}  // namespace

extern const network_library torch_eager{"torch", 0.01F, true, &eager};
extern const network_library torch_script{"torch_script", 0.01F, true, &scripted};
extern const update_library torch_update{"torch", 0.01F, &updating};

}  // namespace rubato::bench
