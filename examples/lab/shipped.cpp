#include "shipped.hpp"

#include <system_error>

namespace rubato::lab {

std::filesystem::path shipped(const std::filesystem::path& below) {
  namespace fs = std::filesystem;
  const fs::path built_from = fs::path{RUBATO_SOURCE_DIR} / below;
  std::error_code error;
  if (fs::exists(built_from, error)) return built_from;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  const fs::path beside = self.parent_path().parent_path().parent_path().parent_path() / below;
  return !self.empty() && fs::exists(beside, error) ? beside : built_from;
}

}  // namespace rubato::lab
