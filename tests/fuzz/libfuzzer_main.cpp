// The one target of this program, as libFuzzer calls it.
#include "fuzz_target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  rubato::fuzz::targets().front().run({data, size});
  return 0;
}
