#ifndef RUBATO_IO_METRICS_TEXT_HPP
#define RUBATO_IO_METRICS_TEXT_HPP

#include <array>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <system_error>

#include "../pinned.hpp"
#include "byte_sink.hpp"

namespace rubato::inline RUBATO_ABI {

/// What HTTP calls a page that metrics_text writes.
inline constexpr std::string_view metrics_content_type = "text/plain; version=0.0.4; charset=utf-8";

/// A label of a sample: a name, and a text or a whole number.
class metric_label {
 public:
  constexpr metric_label(std::string_view name, std::string_view text) noexcept : name_{name}, text_{text} {}  ///< text
  constexpr metric_label(std::string_view name, std::uint32_t number) noexcept
      : name_{name}, number_{number}, is_number_{true} {}  ///< such as the index of a worker

  [[nodiscard]] constexpr std::string_view name() const noexcept { return name_; }   ///< letters, digits, _
  [[nodiscard]] constexpr std::string_view text() const noexcept { return text_; }   ///< empty for a number
  [[nodiscard]] constexpr std::uint32_t number() const noexcept { return number_; }  ///< 0 for a text
  [[nodiscard]] constexpr bool is_number() const noexcept { return is_number_; }     ///< which of the two

 private:
  std::string_view name_;
  std::string_view text_{};
  std::uint32_t number_ = 0;
  bool is_number_ = false;
};

/// Writes what Prometheus reads, text format 0.0.4: families of samples, each with a line of help and one of its type.
///
///     metrics_text page{sink};
///     page.family("rubato_workers", "gauge", "Workers by state.");
///     page.sample(3, {{"state", "running"}}).sample(1, {{"state", "dead"}});
///     page.family("rubato_staleness", "histogram", "Staleness of gradients.");
///     page.part("_bucket").sample(7, {{"le", "0"}}).part("_count").sample(9);
///
/// Samples belong to the family that was begun last. Backslashes and line ends of texts are escaped, and the quotes of
/// labels; a number that is not finite is written as +Inf, -Inf or NaN. Which names and types make sense is the
/// caller's business.
///
/// Cost    no allocation; a few calls of the sink for each sample. Not thread-safe.
/// Tests   tests/io/metrics_text_test.cpp: GoldenPage, TextIsEscaped, NumbersRoundTrip
/// Source  "Exposition formats" in the documentation of Prometheus
template <ByteSink Sink>
class metrics_text {
 public:
  explicit metrics_text(Sink& sink) noexcept : sink_{sink} {}  ///< which must outlive it

  /// Begins a family. `name` must live until the next one. `type`: counter, gauge or histogram.
  metrics_text& family(std::string_view name, std::string_view type, std::string_view help) noexcept {
    name_ = name;
    part_ = {};
    sink_("# HELP "), sink_(name), sink_(" "), escaped(help, "\\\n"), sink_("\n");
    sink_("# TYPE "), sink_(name), sink_(" "), sink_(type), sink_("\n");
    return *this;
  }
  /// Which part of a histogram the next samples are: "_bucket", "_sum" or "_count".
  metrics_text& part(std::string_view suffix) noexcept {
    part_ = suffix;
    return *this;
  }
  /// A sample of it.
  template <class Number>
  requires std::integral<Number> || std::floating_point<Number> metrics_text& sample(
      Number value, std::initializer_list<metric_label> labels = {}) noexcept {
    sink_(name_), sink_(part_);
    std::string_view before = "{";
    for (const metric_label& label : labels) {
      sink_(before), sink_(label.name()), sink_("=\"");
      label.is_number() ? number(label.number()) : escaped(label.text(), "\\\"\n");
      sink_("\"");
      before = ",";
    }
    sink_(labels.size() > 0 ? "} " : " ");
    number(value);
    sink_("\n");
    return *this;
  }

 private:
  template <class Number>
  void number(Number value) noexcept {
    if constexpr (std::floating_point<Number>)
      if (!pinned::is_finite(value)) return sink_(pinned::is_nan(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf");
    std::array<char, 64> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    sink_({digits.data(), static_cast<std::size_t>(end - digits.data())});
  }
  void escaped(std::string_view text, std::string_view special) noexcept {
    for (std::size_t at = text.find_first_of(special); at != text.npos; at = text.find_first_of(special)) {
      sink_(text.substr(0, at));
      sink_(text[at] == '\\' ? "\\\\" : text[at] == '"' ? "\\\"" : "\\n");
      text.remove_prefix(at + 1);
    }
    sink_(text);
  }

  Sink& sink_;
  std::string_view name_{};
  std::string_view part_{};
};

}  // namespace rubato::inline RUBATO_ABI

#endif
