#ifndef RUBATO_TESTS_FUZZ_FUZZ_TARGET_HPP
#define RUBATO_TESTS_FUZZ_FUZZ_TARGET_HPP

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rubato::fuzz {

/// What a fuzzer, or a file of a corpus, has to say. Only valid during the call.
using input = std::span<const std::uint8_t>;

/// One reader under test, and the promises that are checked about it. NAME_fuzz.cpp defines one, and registers it. It
/// must come to the same for the same input, and ends the process where a promise does not hold.
struct target {
  std::string_view name;  ///< of the folder of its corpus
  void (*run)(input);
};

/// All that are linked into this program.
[[nodiscard]] inline std::vector<target>& targets() {
  static std::vector<target> all;
  return all;
}
struct registered {
  registered(std::string_view name, void (*run)(input)) { targets().push_back({name, run}); }
};

/// What is being tried, for the message of a failure.
[[nodiscard]] inline std::string& current() {
  static std::string name;
  return name;
}

/// Ends the process, with a message, if a promise does not hold.
inline void require(bool holds, std::string_view promise, std::string_view about = {}) {
  if (holds) return;
  std::string line = current();
  line.append(": broken: ").append(promise).append(" ").append(about).append("\n");
  std::fputs(line.c_str(), stderr);
  std::abort();
}

[[nodiscard]] inline std::string_view text_of(input bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
[[nodiscard]] inline std::span<const std::byte> span_of(std::string_view text) {
  return std::as_bytes(std::span{text.data(), text.size()});
}

/// Takes numbers and parts off the front of an input; zeros and nothing behind its end.
class input_reader {
 public:
  explicit input_reader(input bytes) : left_{bytes} {}
  [[nodiscard]] bool empty() const { return left_.empty(); }
  [[nodiscard]] input rest() const { return left_; }

  [[nodiscard]] std::uint8_t byte() {
    const input one = take(1);
    return one.empty() ? std::uint8_t{0} : one[0];
  }
  /// Little-endian.
  template <class Number>
  [[nodiscard]] Number number() {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < sizeof(Number); ++i) value |= std::uint64_t{byte()} << (8 * i);
    return static_cast<Number>(value);
  }
  /// At most so many.
  [[nodiscard]] input take(std::size_t count) {
    const input front = left_.first(count < left_.size() ? count : left_.size());
    left_ = left_.subspan(front.size());
    return front;
  }
  /// What its first two bytes say, modulo all that is there.
  [[nodiscard]] input take_part() {
    const auto size = number<std::uint16_t>();
    return take(size % (left_.size() + 1));
  }

 private:
  input left_;
};

}  // namespace rubato::fuzz

#endif
