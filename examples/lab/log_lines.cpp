#include "log_lines.hpp"

#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <rubato/io/utf8.hpp>

#include "decision_history.hpp"
#include "support/json_nesting.hpp"
#include "support/text_lines.hpp"
#include "support/user_error.hpp"

namespace rubato::lab {
namespace {

using nlohmann::json;
using kind = record::kind;

enum class member : std::uint8_t {
  now,
  what,
  worker,
  incarnation,
  step,
  clock,
  verdict,
  because,
  round,
  weight,
  staleness,
  loss,
  batch,
  lr_scale,
  count,
  scale,
  why,
  version,
  parked,
  format,
  policy,
  describe,
  none
};
constexpr std::array<std::string_view, 22> members{
    "now",  "what",  "worker",   "incarnation", "step",  "clock", "verdict", "because", "round",  "weight", "staleness",
    "loss", "batch", "lr_scale", "count",       "scale", "why",   "version", "parked",  "format", "policy", "describe"};

[[nodiscard]] member member_of(std::string_view key) noexcept {
  for (std::size_t i = 0; i < members.size(); ++i)
    if (members[i] == key) return static_cast<member>(i);
  return member::none;
}

// What a member has, of its first level.
struct value {
  enum class type : std::uint8_t { absent, null, whole, number, text, other };
  type is = type::absent;
  std::uint64_t whole = 0;
  double number = 0;
  std::string text;
};

// Keeps the members that are known, and of the rest nothing.
class handler {
 public:
  using number_integer_t = json::number_integer_t;
  using number_unsigned_t = json::number_unsigned_t;
  using number_float_t = json::number_float_t;
  using string_t = json::string_t;
  using binary_t = json::binary_t;

  handler() { values_.back().is = value::type::absent; }

  void begin() {
    for (value& each : values_) each.is = value::type::absent;
    depth_ = 0;
    is_object_ = false;
    at_ = member::none;
  }
  [[nodiscard]] bool is_object() const noexcept { return is_object_; }
  [[nodiscard]] const value& operator[](member which) const noexcept {
    return values_[static_cast<std::size_t>(which)];
  }

  bool null() { return put(value::type::null), true; }
  bool boolean(bool) { return put(value::type::other), true; }
  bool number_integer(number_integer_t n) { return put_number(static_cast<double>(n)), true; }
  bool number_unsigned(number_unsigned_t n) {
    if (value* const to = put(value::type::whole)) {
      to->whole = n;
      to->number = static_cast<double>(n);
    }
    return true;
  }
  bool number_float(number_float_t n, const string_t&) { return put_number(n), true; }
  bool string(string_t& text) {
    if (value* const to = put(value::type::text)) to->text.swap(text);
    return true;
  }
  bool binary(binary_t&) { return false; }
  bool start_object(std::size_t) {
    if (depth_ == 0) is_object_ = true;
    return nest();
  }
  bool start_array(std::size_t) { return nest(); }
  bool end_object() { return --depth_, true; }
  bool end_array() { return --depth_, true; }
  bool key(string_t& text) {
    if (depth_ == 1) at_ = member_of(text);
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const json::exception&) { return false; }

 private:
  bool nest() {
    if (depth_ == 1) put(value::type::other);
    return ++depth_, true;
  }
  // Where the value goes, if anywhere.
  value* put(value::type is) {
    if (depth_ != 1 || at_ == member::none) return nullptr;
    value& to = values_[static_cast<std::size_t>(at_)];
    to.is = is;
    return &to;
  }
  void put_number(double n) {
    if (value* const to = put(value::type::number)) to->number = n;
  }

  std::array<value, members.size()> values_;
  std::uint64_t depth_ = 0;
  bool is_object_ = false;
  member at_ = member::none;
};

// Reads the members of one line. The first thing that is wrong is kept.
class line_reader {
 public:
  line_reader(const handler& from, std::string_view text) : from_{from}, text_{text} {}

  [[nodiscard]] std::string operator()(log_line& to) {
    to.event = {};
    if (from_[member::what].is == value::type::absent && from_[member::format].is != value::type::absent)
      return header(to), problem_;
    const std::string_view what = text(member::what);
    if (!problem_.empty()) return problem_;
    if (what == "policy") {
      to.is = log_line::kind::policy;
      to.now = number(member::now);
      describe(to);
      return problem_;
    }
    to.is = log_line::kind::record;
    const auto known = named(what, kind::change_policy, to.event.what);
    if (!known) refuse("what = " + in_quotes(what), "a kind that a decision log of version 1 has");
    if (problem_.empty()) event(to.event);
    return problem_;
  }

 private:
  void refuse(const std::string& found, const std::string& expected) {
    if (problem_.empty()) problem_ = "found " + found + ", expected " + expected;
  }
  [[nodiscard]] static std::string name_of(member which) {
    return std::string{members[static_cast<std::size_t>(which)]};
  }
  void refuse_value(member which, const std::string& expected) {
    const value& v = from_[which];
    if (v.is == value::type::absent) return refuse("no member \"" + name_of(which) + "\"", expected);
    refuse(name_of(which) + " = " +
               (v.is == value::type::null                                   ? "null"
                : v.is == value::type::text                                 ? in_quotes(v.text)
                : v.is == value::type::whole || v.is == value::type::number ? json(v.number).dump()
                                                                            : "something else"),
           expected);
  }

  // Whether a name is that of one of the values up to `last`.
  template <class Enum>
  [[nodiscard]] static bool named(std::string_view text, Enum last, Enum& to) noexcept {
    for (std::size_t i = 0; i <= static_cast<std::size_t>(last); ++i)
      if (name(static_cast<Enum>(i)) == text) return to = static_cast<Enum>(i), true;
    return false;
  }
  template <class Enum>
  void named(member which, Enum last, const std::string& expected, Enum& to) {
    const value& v = from_[which];
    if (v.is != value::type::text || !named(v.text, last, to)) refuse_value(which, expected);
  }

  [[nodiscard]] std::string_view text(member which) {
    if (from_[which].is != value::type::text) refuse_value(which, "a string");
    return from_[which].text;
  }
  [[nodiscard]] double number(member which) {
    const value& v = from_[which];
    const bool is_number = v.is == value::type::whole || v.is == value::type::number;
    if (!is_number || !std::isfinite(v.number)) refuse_value(which, "a number");
    return v.number;
  }
  [[nodiscard]] float factor(member which) {
    const double n = number(which);
    if (!(std::abs(n) <= static_cast<double>((std::numeric_limits<float>::max)()))) {
      refuse_value(which, "a number that a float can hold");
      return 1;
    }
    return static_cast<float>(n);
  }
  template <class Whole>
  void whole(member which, Whole& to) {
    const value& v = from_[which];
    if (v.is != value::type::whole || v.whole > (std::numeric_limits<Whole>::max)())
      return refuse_value(which, "a whole number from 0 to " + std::to_string((std::numeric_limits<Whole>::max)()));
    to = static_cast<Whole>(v.whole);
  }

  void header(log_line& to) {
    to.is = log_line::kind::header;
    if (text(member::format) != "rubato.decisions") refuse_value(member::format, "\"rubato.decisions\"");
    std::uint32_t version = 0;
    whole(member::version, version);
    if (version != 1) refuse("version " + std::to_string(version), "1, which is what this program reads");
    describe(to);
  }

  void describe(log_line& to) {
    to.policy = text(member::policy);
    if (from_[member::describe].is == value::type::absent) refuse_value(member::describe, "what describes the policy");
    if (support::nesting_of(text_) > support::deepest_nesting)
      refuse("nesting deeper than " + std::to_string(support::deepest_nesting) + " levels", "an object of few");
    if (problem_.empty())
      to.description =
          json::parse(text_, nullptr, false)["describe"].dump(-1, ' ', false, json::error_handler_t::replace);
  }

  void time(record& r) {
    r.now = -std::numeric_limits<double>::infinity();
    if (from_[member::now].is != value::type::null) r.now = number(member::now);
  }
  void worker(record& r) {
    whole(member::worker, r.worker.index);
    whole(member::incarnation, r.worker.incarnation);
  }
  void because(record& r) {
    named(member::because, reason::nobody_left, "a reason that a decision log of version 1 has", r.because);
  }
  [[nodiscard]] bool has(member which) const { return from_[which].is != value::type::absent; }

  void event(record& r) {
    time(r);
    if (has(member::worker)) worker(r);
    switch (r.what) {
      case kind::join:
        break;
      case kind::depart:
        named(member::why, cause::done, "leave, death or done", r.why);
        if (r.why < cause::leave) refuse_value(member::why, "leave, death or done");
        whole(member::clock, r.clock);
        break;
      case kind::admit:
        admission(r);
        break;
      case kind::commit:
        whole(member::step, r.step);
        whole(member::clock, r.clock);
        named(member::verdict, verdict::drop, "apply, accumulate or drop", r.decided);
        if (has(member::because)) because(r);
        break;
      case kind::release:
        whole(member::clock, r.clock);
        whole(member::batch, r.count);
        r.value = factor(member::lr_scale);
        break;
      case kind::flush:
        whole(member::round, r.round);
        whole(member::count, r.count);
        r.value = factor(member::scale);
        break;
      case kind::discard:
        whole(member::round, r.round);
        whole(member::count, r.count);
        because(r);
        break;
      case kind::cancel:
      case kind::exclude:
      case kind::readmit:
        whole(member::clock, r.clock);
        break;
      case kind::abandon:
      case kind::refuse:
        because(r);
        break;
      case kind::adjust:
        if (has(member::worker)) whole(member::clock, r.clock);
        because(r);
        break;
      case kind::change_policy:
        break;
    }
    const bool of_nobody = r.what == kind::flush || r.what == kind::discard || r.what == kind::change_policy ||
                           r.what == kind::adjust || r.what == kind::refuse;
    if (!of_nobody && !has(member::worker)) refuse_value(member::worker, "whom it is about");
    whole(member::version, r.version);
    whole(member::parked, r.parked);
  }

  void admission(record& r) {
    whole(member::step, r.step);
    whole(member::clock, r.clock);
    named(member::verdict, verdict::drop, "apply, accumulate or drop", r.decided);
    if (r.decided == verdict::drop)
      because(r);
    else
      r.value = factor(member::weight);
    if (r.decided == verdict::accumulate) whole(member::round, r.round);
    whole(member::staleness, r.staleness);
    const value& loss = from_[member::loss];
    r.loss = loss.is == value::type::null ? std::numeric_limits<float>::quiet_NaN() : factor(member::loss);
  }

  const handler& from_;
  std::string_view text_;
  std::string problem_;
};

}  // namespace

std::string read_log_line(std::string_view text, log_line& to) {
  thread_local handler values;
  values.begin();
  const bool parsed = json::sax_parse(text.begin(), text.end(), &values);
  if (!parsed || !values.is_object()) return "found what is no JSON object, expected one in each line";
  return line_reader{values, text}(to);
}

log_reading read_log(const std::filesystem::path& file, const std::function<std::string(const log_line&)>& each) {
  support::text_lines lines{file, longest_line};
  log_reading reading;
  std::string text;
  log_line line;
  try {
    while (lines.next(text)) {
      if (!reading.problem.empty()) {
        ++reading.unread;
        continue;
      }
      std::string wrong = read_log_line(text, line);
      const bool first = lines.number() == 1;
      if (wrong.empty() && first && line.is != log_line::kind::header)
        wrong = "found no header, expected {\"format\":\"rubato.decisions\", ...}";
      if (wrong.empty() && !first && line.is == log_line::kind::header)
        wrong = "found the header of another log, expected one log in a file";
      if (wrong.empty()) wrong = each(line);
      if (wrong.empty()) {
        ++reading.lines;
        continue;
      }
      if (!lines.ended()) wrong = "found a line that is cut off, expected a whole one";
      if (first) throw support::user_error{lines.place() + ": " + wrong};
      reading.problem = lines.place() + ": " + wrong;
      reading.unread = 1;
    }
  } catch (const support::user_error& error) {  // a line that is too long, or corrupt gzip data
    if (reading.lines == 0) throw;
    if (reading.problem.empty()) reading.problem = error.what();
  }
  if (lines.number() == 0) throw support::user_error{file.string() + ": found an empty file, expected a decision log"};
  if (lines.cut_off() && reading.problem.empty())
    reading.problem = lines.place() + ": found a gzip file that ends early, expected its end";
  return reading;
}

}  // namespace rubato::lab
