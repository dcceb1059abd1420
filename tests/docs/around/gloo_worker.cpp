#include <cstdint>
#include <rubato/gloo_ps/gloo_link.hpp>
#include <rubato/gloo_ps/rendezvous.hpp>
#include <rubato/gloo_ps/stores.hpp>
#include <rubato/gloo_ps/worker.hpp>
#include <string>
#include <vector>

int complain(const std::string& sentence);
float compute(const std::vector<float>& parameters, std::uint32_t samples, std::vector<float>& gradient);

int work(std::uint32_t rank, std::uint32_t shards, std::vector<float>& parameters, std::vector<float>& gradient) {
  // BLOCK
  return 0;
}
