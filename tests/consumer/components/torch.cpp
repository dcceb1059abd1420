#include <cstdio>
#include <rubato/libtorch/tensor_over.hpp>
#include <vector>

int main() {
  std::vector<float> values{1, -1};
  std::printf("torch: %d\n", rubato::libtorch::tensor_over(values).sum().item<int>());
}
