#include "metrics_page.hpp"

#include <cctype>
#include <cstdint>
#include <cstdlib>
#include <rubato/io/utf8.hpp>
#include <utility>

#include "support/user_error.hpp"

namespace rubato::lab {
namespace {

// One line, from its front to its end.
class sample_reader {
 public:
  sample_reader(std::string_view line, std::string place) : rest_{line}, place_{std::move(place)} {}

  metric_sample sample() {
    metric_sample s{.name = name(), .labels = {}, .value = 0};
    if (take('{'))
      while (!take('}')) {
        std::string label = name();
        if (!take('=') || !take('"')) fail("a label's =\"");
        s.labels.insert_or_assign(std::move(label), text());
        if (!take(',') && !rest_.starts_with('}')) fail(", or }");
      }
    spaces();
    const std::string number{rest_.substr(0, rest_.find_first_of(" \t\r"))};
    char* end = nullptr;
    s.value = std::strtod(number.c_str(), &end);  // knows NaN and +Inf, too
    if (number.empty() || *end != '\0') fail("a number");
    return s;
  }

 private:
  [[noreturn]] void fail(const char* expected) const {
    throw support::user_error{place_ + ": found " + in_quotes(rest_) + ", expected " + expected};
  }
  void spaces() {
    while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\t')) rest_.remove_prefix(1);
  }
  bool take(char c) {
    spaces();
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  std::string name() {
    spaces();
    std::size_t size = 0;
    while (size < rest_.size() &&
           (std::isalnum(static_cast<unsigned char>(rest_[size])) != 0 || rest_[size] == '_' || rest_[size] == ':'))
      ++size;
    if (size == 0) fail("a name");
    std::string found{rest_.substr(0, size)};
    rest_.remove_prefix(size);
    return found;
  }
  std::string text() {
    std::string found;
    for (; !rest_.empty() && rest_.front() != '"'; rest_.remove_prefix(1)) {
      if (rest_.front() == '\\' && rest_.size() > 1) {
        rest_.remove_prefix(1);
        found += rest_.front() == 'n' ? '\n' : rest_.front();
      } else {
        found += rest_.front();
      }
    }
    if (rest_.empty()) fail("a quote");
    rest_.remove_prefix(1);
    return found;
  }

  std::string_view rest_;
  std::string place_;
};

}  // namespace

void read_metrics(std::string_view page, const std::string& source,
                  const std::function<void(const metric_sample&)>& each) {
  for (std::uint64_t number = 1; !page.empty(); ++number) {
    const std::string_view line = page.substr(0, page.find('\n'));
    page.remove_prefix(line.size() < page.size() ? line.size() + 1 : line.size());
    if (line.empty() || line == "\r" || line.front() == '#') continue;
    const std::string place = source + ':' + std::to_string(number);
    if (line.size() > longest_sample)
      throw support::user_error{place + ": found a line of more than " + std::to_string(longest_sample) +
                                " bytes, expected a sample"};
    each(sample_reader{line, place}.sample());
  }
}

}  // namespace rubato::lab
