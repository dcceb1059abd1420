// The target that RUBATO_FUZZ_TARGET names, as libFuzzer calls it.
#include "fuzz_target.hpp"

namespace {

const rubato::fuzz::target* chosen = nullptr;

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  const char* const name = std::getenv("RUBATO_FUZZ_TARGET");
  for (const auto& each : rubato::fuzz::targets())
    if (name != nullptr && each.name == name) chosen = &each;
  if (chosen != nullptr) return 0;
  std::fprintf(stderr, "RUBATO_FUZZ_TARGET: found \"%s\", expected one of:", name == nullptr ? "" : name);
  for (const auto& each : rubato::fuzz::targets()) std::fprintf(stderr, " %s", std::string{each.name}.c_str());
  std::fprintf(stderr, "\n");
  std::exit(2);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  chosen->run({data, size});
  return 0;
}
