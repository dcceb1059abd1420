#include <cstdio>
#include <rubato/cuda/shared_body.cuh>

int main() {
  std::printf("cuda: %d\n", static_cast<int>(rubato::cuda::exact_arithmetic::plus_product(-1.0F, 1.0F, 1.0F)));
}
