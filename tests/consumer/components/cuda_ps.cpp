#include <cstdio>
#include <rubato/cuda_ps/rule.cuh>

int main() { std::printf("cuda_ps: %d\n", rubato::cuda_ps::problem({}).empty() ? 0 : 1); }
