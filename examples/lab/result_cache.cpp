#include "result_cache.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <new>
#include <rubato/core/fnv1a.hpp>
#include <rubato/sim/kernels/kernels.hpp>

#include "library_version.hpp"
#include "support/json_nesting.hpp"
#include "support/user_error.hpp"

namespace rubato::lab {
namespace {

using support::user_error;

[[noreturn]] void fail(const std::filesystem::path& file, const char* what, int code) {
  throw user_error{"--cache: " + file.string() + ": cannot be " + what + ": " + std::strerror(code)};
}

// With its end, unless that is missing.
[[nodiscard]] bool next_line(std::FILE& from, std::string& line) {
  line.clear();
  for (int c = std::getc(&from); c != EOF; c = std::getc(&from)) {
    line += static_cast<char>(c);
    if (c == '\n') break;
  }
  return !line.empty();
}

// All of it or, as on a full disk, nothing. Alone, so that what is taken back is nobody else's: where files cannot be
// locked, nothing is.
void append(int descriptor, std::string_view text, const std::filesystem::path& file) {
  const bool alone = flock(descriptor, LOCK_EX) == 0;
  const off_t before = lseek(descriptor, 0, SEEK_END);
  int problem = 0;
  while (!text.empty() && problem == 0) {
    const ssize_t count = write(descriptor, text.data(), text.size());
    if (count >= 0)
      text.remove_prefix(static_cast<std::size_t>(count));
    else if (errno != EINTR)
      problem = errno;
  }
  if (problem != 0 && alone && before >= 0 && ftruncate(descriptor, before) != 0) problem = errno;
  if (alone) flock(descriptor, LOCK_UN);
  if (problem != 0) fail(file, "written", problem);
}

}  // namespace

std::string code_version() {
  static const std::string version = [] {
    const std::filesystem::path self = "/proc/self/exe";
    std::error_code none;  // elsewhere than on Linux
    const std::uintmax_t size = std::filesystem::file_size(self, none);
    std::string program(none ? 0 : static_cast<std::size_t>(size), '\0');
    std::ifstream{self, std::ios::binary}.read(program.data(), static_cast<std::streamsize>(program.size()));
    return library_version() + "-" + hexadecimal(fnv1a(program)) + "-" + sim::kernels::native().arithmetic;
  }();
  return version;
}

std::string result_key(const setting& at, std::uint64_t data_fingerprint, const any_policy& policy,
                       std::uint64_t seed) {
  support::scenario one = at.scenario;
  one.hidden_layers = {at.hidden_layers};
  nlohmann::json key{{"scenario", nlohmann::json::parse(support::canonical_form(one))},
                     {"data", hexadecimal(data_fingerprint)},
                     {"policy", policy.describe().json},
                     {"seed", seed}};
  if (at.host != host_kind::simulator) key[name(at.host)] = at.unit_seconds;
  if (at.switching) key["switching"] = nlohmann::json::parse(text_of(*at.switching));
  return key.dump();
}

std::filesystem::path cache_file(const std::filesystem::path& directory, const std::string& version) {
  return directory / (version + ".jsonl");
}

result_cache::result_cache(const std::filesystem::path& directory, const std::string& version)
    : file_{cache_file(directory, version)} {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) throw user_error{"--cache: " + directory.string() + ": cannot be created: " + error.message()};

  const int descriptor = open(file_.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666);
  if (descriptor < 0) fail(file_, "opened", errno);
  results_.reset(fdopen(descriptor, "a+"));
  if (!results_) close(descriptor), throw std::bad_alloc{};
  struct stat about {};
  if (fstat(descriptor, &about) != 0 || !S_ISREG(about.st_mode))
    throw user_error{"--cache: " + file_.string() + ": found no regular file, expected one"};
  std::rewind(results_.get());
  bool torn = false;
  for (std::string line; next_line(*results_, line);) {
    torn = !line.ends_with('\n');
    if (support::nesting_of(line) > support::deepest_nesting) continue;
    const auto entry = nlohmann::json::parse(line, nullptr, false);
    if (!entry.is_object() || !entry.contains("key") || !entry.contains("result")) continue;
    if (const auto result = measurement_from(entry["result"])) known_[entry["key"].dump()] = *result;
  }
  if (std::ferror(results_.get()) != 0) fail(file_, "read", EIO);
  if (torn) append(descriptor, "\n", file_);
}

std::optional<measurement> result_cache::find(const std::string& key) const {
  const std::lock_guard lock{mutex_};
  const auto found = known_.find(key);
  return found == known_.end() ? std::nullopt : std::optional{found->second};
}

void result_cache::store(const std::string& key, const measurement& result) {
  if (!results_) return;
  const std::string line = R"({"key":)" + key + R"(,"result":)" + to_json(result).dump() + "}\n";
  const std::lock_guard lock{mutex_};
  append(fileno(results_.get()), line, file_);
}

}  // namespace rubato::lab
