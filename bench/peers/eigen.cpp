// Eigen, by hand: shapes known to the compiler, no temporaries.
#include "network.hpp"

#include <Eigen/Core>

namespace rubato::bench {
namespace {

template <int Outputs, int Inputs>
struct layer {
  Eigen::Matrix<float, Outputs, Inputs> weight;
  Eigen::Matrix<float, Outputs, 1> bias;

  const float* read(const float* from) {
    weight = Eigen::Map<const Eigen::Matrix<float, Outputs, Inputs>>{from};
    bias = Eigen::Map<const Eigen::Matrix<float, Outputs, 1>>{from + Outputs * Inputs};
    return from + Outputs * (Inputs + 1);
  }
  // out = leaky(weight * in + bias), a column for each sample
  template <bool Leaky, class In, class Out>
  void forward(const In& in, Out&& out) const {
    out.noalias() = weight * in;
    if constexpr (std::remove_cvref_t<Out>::ColsAtCompileTime == 1) {
      if constexpr (Leaky) out = (out + bias).cwiseMax(0.01F * (out + bias));
      else out += bias;
    } else {
      out.colwise() += bias;
      if constexpr (Leaky) out = out.cwiseMax(0.01F * out);
    }
  }
};

class network final : public network_peer {
 public:
  explicit network(const float* parameters) { third_.read(second_.read(first_.read(parameters))); }

  void evaluate(const float* in, float* out) override {
    Eigen::Matrix<float, 64, 1> h;
    Eigen::Matrix<float, 32, 1> g;
    const Eigen::Map<const Eigen::Matrix<float, 40, 1>, Eigen::Aligned64> x{in};
    Eigen::Map<Eigen::Matrix<float, 3, 1>> y{out};
    first_.template forward<true>(x, h);
    second_.template forward<true>(h, g);
    third_.template forward<false>(g, y);
  }

  // In blocks that stay in the first-level cache.
  void forward(std::size_t rows, const float* in, float* out) override {
    constexpr std::size_t most = 32;
    for (std::size_t row = 0; row < rows; row += most) {
      const auto block = static_cast<Eigen::Index>(std::min(most, rows - row));
      const Eigen::Map<const Eigen::Matrix<float, 40, Eigen::Dynamic>> x{in + 40 * row, 40, block};
      Eigen::Map<Eigen::Matrix<float, 3, Eigen::Dynamic>> y{out + 3 * row, 3, block};
      if (block == most) {
        const Eigen::Map<const Eigen::Matrix<float, 40, most>> full{in + 40 * row};
        Eigen::Map<Eigen::Matrix<float, 3, most>> fully{out + 3 * row};
        run(full, h_, g_, fully);
      } else {
        h.resize(64, block);
        g.resize(32, block);
        run(x, h, g, y);
      }
    }
  }

 private:
  template <class X, class H, class G, class Y>
  void run(const X& x, H& h1, G& h2, Y& y) const {
    first_.template forward<true>(x, h1);
    second_.template forward<true>(h1, h2);
    third_.template forward<false>(h2, y);
  }

  layer<64, 40> first_;
  layer<32, 64> second_;
  layer<3, 32> third_;
  Eigen::Matrix<float, 64, 32> h_;
  Eigen::Matrix<float, 32, 32> g_;
  Eigen::Matrix<float, 64, Eigen::Dynamic> h;
  Eigen::Matrix<float, 32, Eigen::Dynamic> g;
};

}  // namespace

extern const network_library eigen{"eigen", 0.01F, true, [](const float* parameters) -> std::unique_ptr<network_peer> {
                                     return std::make_unique<network>(parameters);
                                   }};

}  // namespace rubato::bench
