#include "policy_file.hpp"

#include <filesystem>
#include <system_error>
#include <utility>

namespace rubato::lab {

result<policy_file> read_policy_file(const std::string& path) {
  result<safetensors> file = safetensors::load(path);
  if (!file) return file.error();
  result<policy_card> card = read_policy_card(*file);
  if (!card) return card.error();
  std::error_code unknown;
  const std::uintmax_t bytes = std::filesystem::file_size(path, unknown);
  return policy_file{*std::move(file), *std::move(card), unknown ? 0 : bytes};
}

}  // namespace rubato::lab
