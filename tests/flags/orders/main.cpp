// That units with other flags share one program, whichever the linker takes first: each computes what the plain one does.
#include <cstdio>
#include <cstring>
#include <iterator>

#include "unit.hpp"

namespace {

bool has_avx2() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
  return true;
#endif
}

constexpr struct {
  const char* name;
  order_bits (*bits)();
  bool (*can_run)();
} units[] = {{"plain", plain_bits, nullptr},
#ifdef RUBATO_ORDER_X86
             {"avx2", avx2_bits, has_avx2},
#endif
             {"native", native_bits, nullptr},
             {"fast", fast_bits, nullptr}};

}  // namespace

int main() {
  const order_bits expected = plain_bits();
  int wrong = 0, ran = 0;
  for (const auto& unit : units) {
    if (unit.can_run != nullptr && !unit.can_run()) continue;
    const order_bits got = unit.bits();
    ++ran;
    for (std::size_t set = 0; set < std::size(got.kernels); ++set)
      if (got.kernels[set] != expected.kernels[set]) std::printf("%s: kernels %zu differ\n", unit.name, set), ++wrong;
    if (got.decisions != expected.decisions) std::printf("%s: decisions differ\n", unit.name), ++wrong;
    if (got.dropped != 60) std::printf("%s: drops %d of 60\n", unit.name, int(got.dropped)), ++wrong;
  }
  static_cast<void>(has_avx2);
  std::printf("%d units, %d differences\n", ran, wrong);
  return wrong == 0 ? 0 : 1;
}
