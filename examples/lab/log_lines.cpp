#include "log_lines.hpp"

#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <rubato/io/utf8.hpp>

#include "log_draft.hpp"
#include "number_text.hpp"
#include "support/json_nesting.hpp"
#include "support/text_lines.hpp"
#include "support/user_error.hpp"

namespace rubato::lab {
namespace {

using nlohmann::json;
using event_kind = record::kind;

enum class field : std::uint8_t {
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
  earlier,
  none
};
constexpr std::array<std::string_view, 23> fields{
    "now",  "what",  "worker",   "incarnation", "step",  "clock", "verdict", "because", "round",  "weight", "staleness",
    "loss", "batch", "lr_scale", "count",       "scale", "why",   "version", "parked",  "format", "policy", "describe",
    "earlier"};

[[nodiscard]] field field_of(std::string_view key) noexcept {
  for (std::size_t i = 0; i < fields.size(); ++i)
    if (fields[i] == key) return static_cast<field>(i);
  return field::none;
}

// What a member has, of its first level.
struct field_value {
  enum class type : std::uint8_t { absent, null, whole, number, text, other };
  type is = type::absent;
  std::uint64_t whole = 0;
  double number = 0;
  std::string text;
};

// Keeps the fields that are known, and of the rest nothing.
class field_values {
 public:
  using number_integer_t = json::number_integer_t;
  using number_unsigned_t = json::number_unsigned_t;
  using number_float_t = json::number_float_t;
  using string_t = json::string_t;
  using binary_t = json::binary_t;

  void begin() {
    for (field_value& each : values_) each.is = field_value::type::absent;
    depth_ = 0;
    is_object_ = false;
    at_ = field::none;
  }
  [[nodiscard]] bool is_object() const noexcept { return is_object_; }
  [[nodiscard]] const field_value& operator[](field which) const noexcept {
    return values_[static_cast<std::size_t>(which)];
  }

  bool null() { return put(field_value::type::null), true; }
  bool boolean(bool) { return put(field_value::type::other), true; }
  bool number_integer(number_integer_t n) { return put_number(static_cast<double>(n)), true; }
  bool number_unsigned(number_unsigned_t n) {
    if (field_value* const to = put(field_value::type::whole)) {
      to->whole = n;
      to->number = static_cast<double>(n);
    }
    return true;
  }
  bool number_float(number_float_t n, const string_t&) { return put_number(n), true; }
  bool string(string_t& text) {
    if (field_value* const to = put(field_value::type::text)) to->text.swap(text);
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
    if (depth_ == 1) at_ = field_of(text);
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const json::exception&) { return false; }

 private:
  bool nest() {
    if (depth_ == 1) put(field_value::type::other);
    return ++depth_, true;
  }
  // Where the value goes, if anywhere.
  field_value* put(field_value::type is) {
    if (depth_ != 1 || at_ == field::none) return nullptr;
    field_value& to = values_[static_cast<std::size_t>(at_)];
    to.is = is;
    return &to;
  }
  void put_number(double n) {
    if (field_value* const to = put(field_value::type::number)) to->number = n;
  }

  std::array<field_value, fields.size()> values_;
  std::uint64_t depth_ = 0;
  bool is_object_ = false;
  field at_ = field::none;
};

// Reads the fields of one line. The first thing that is wrong is kept.
class line_reader {
 public:
  line_reader(const field_values& from, std::string_view text) : from_{from}, text_{text} {}

  [[nodiscard]] std::string operator()(log_line& to) {
    to.event = {};
    if (from_[field::what].is == field_value::type::absent && from_[field::format].is != field_value::type::absent)
      return header(to), problem_;
    const std::string_view what = text(field::what);
    if (!problem_.empty()) return problem_;
    if (what == "policy") {
      to.is = log_line::kind::policy;
      to.now = time();
      describe(to);
      return problem_;
    }
    to.is = log_line::kind::record;
    const auto known = named(what, event_kind::change_policy, to.event.what);
    if (!known) refuse("what = " + in_quotes(what), "a kind that a decision log of version 1 has");
    if (problem_.empty()) event(to.event);
    return problem_;
  }

 private:
  void refuse(const std::string& found, const std::string& expected) {
    if (problem_.empty()) problem_ = "found " + found + ", expected " + expected;
  }
  [[nodiscard]] static std::string name_of(field which) { return std::string{fields[static_cast<std::size_t>(which)]}; }
  void refuse_value(field which, const std::string& expected) {
    const field_value& v = from_[which];
    if (v.is == field_value::type::absent) return refuse("no member \"" + name_of(which) + "\"", expected);
    refuse(name_of(which) + " = " +
               (v.is == field_value::type::null     ? "null"
                : v.is == field_value::type::text   ? in_quotes(v.text)
                : v.is == field_value::type::whole  ? std::to_string(v.whole)
                : v.is == field_value::type::number ? short_text(v.number)
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
  void named(field which, Enum last, const std::string& expected, Enum& to) {
    const field_value& v = from_[which];
    if (v.is != field_value::type::text || !named(v.text, last, to)) refuse_value(which, expected);
  }

  [[nodiscard]] std::string_view text(field which) {
    if (from_[which].is != field_value::type::text) refuse_value(which, "a string");
    return from_[which].text;
  }
  [[nodiscard]] double number(field which) {
    const field_value& v = from_[which];
    const bool is_number = v.is == field_value::type::whole || v.is == field_value::type::number;
    if (!is_number || !std::isfinite(v.number)) refuse_value(which, "a number");
    return v.number;
  }
  [[nodiscard]] float factor(field which) {
    const double n = number(which);
    if (!(std::abs(n) <= static_cast<double>((std::numeric_limits<float>::max)()))) {
      refuse_value(which, "a number that a float can hold");
      return 1;
    }
    return static_cast<float>(n);
  }
  template <class Whole>
  void whole(field which, Whole& to, Whole most = (std::numeric_limits<Whole>::max)()) {
    const field_value& v = from_[which];
    if (v.is != field_value::type::whole || v.whole > most)
      return refuse_value(which, "a whole number from 0 to " + std::to_string(most));
    to = static_cast<Whole>(v.whole);
  }

  void header(log_line& to) {
    to.is = log_line::kind::header;
    to.now = 0;
    if (text(field::format) != "rubato.decisions") refuse_value(field::format, "\"rubato.decisions\"");
    std::uint32_t version = 0;
    whole(field::version, version);
    if (version != 1) refuse("version " + std::to_string(version), "1, which is what this program reads");
    to.earlier = 0;
    if (from_[field::earlier].is != field_value::type::absent) whole(field::earlier, to.earlier);
    describe(to);
  }

  void describe(log_line& to) {
    to.policy = text(field::policy);
    if (from_[field::describe].is == field_value::type::absent)
      refuse_value(field::describe, "what describes the policy");
    if (support::nesting_of(text_) > support::deepest_nesting)
      refuse("nesting deeper than " + std::to_string(support::deepest_nesting) + " levels", "an object of few");
    if (problem_.empty())
      to.description =
          json::parse(text_, nullptr, false)["describe"].dump(-1, ' ', false, json::error_handler_t::replace);
  }

  [[nodiscard]] double time() {
    const bool none = from_[field::now].is == field_value::type::null;  // before the host's clock was first read
    return none ? -std::numeric_limits<double>::infinity() : number(field::now);
  }
  void worker(record& r) {
    whole(field::worker, r.worker.index, no_worker - 1);
    whole(field::incarnation, r.worker.incarnation);
  }
  void because(record& r) {
    named(field::because, reason::nobody_left, "a reason that a decision log of version 1 has", r.because);
  }
  [[nodiscard]] bool has(field which) const { return from_[which].is != field_value::type::absent; }

  void event(record& r) {
    r.now = time();
    const bool of_all =
        r.what == event_kind::flush || r.what == event_kind::discard || r.what == event_kind::change_policy;
    if (!of_all && has(field::worker)) worker(r);
    switch (r.what) {
      case event_kind::join:
        break;
      case event_kind::depart:
        named(field::why, cause::done, "leave, death or done", r.why);
        if (r.why < cause::leave) refuse_value(field::why, "leave, death or done");
        whole(field::clock, r.clock);
        break;
      case event_kind::admit:
        admission(r);
        break;
      case event_kind::commit:
        whole(field::step, r.step);
        whole(field::clock, r.clock);
        named(field::verdict, verdict::drop, "apply, accumulate or drop", r.decided);
        if (has(field::because)) because(r);
        break;
      case event_kind::release:
        whole(field::clock, r.clock);
        whole(field::batch, r.count);
        r.value = factor(field::lr_scale);
        break;
      case event_kind::flush:
        whole(field::round, r.round);
        whole(field::count, r.count);
        r.value = factor(field::scale);
        break;
      case event_kind::discard:
        whole(field::round, r.round);
        whole(field::count, r.count);
        because(r);
        break;
      case event_kind::cancel:
      case event_kind::exclude:
      case event_kind::readmit:
        whole(field::clock, r.clock);
        break;
      case event_kind::abandon:
      case event_kind::refuse:
        because(r);
        break;
      case event_kind::adjust:
        if (has(field::worker)) whole(field::clock, r.clock);
        because(r);
        break;
      case event_kind::change_policy:
        break;
    }
    const bool maybe_of_nobody = of_all || r.what == event_kind::adjust || r.what == event_kind::refuse;
    if (!maybe_of_nobody && !has(field::worker)) refuse_value(field::worker, "whom it is about");
    whole(field::version, r.version);
    whole(field::parked, r.parked);
  }

  void admission(record& r) {
    whole(field::step, r.step);
    whole(field::clock, r.clock);
    named(field::verdict, verdict::drop, "apply, accumulate or drop", r.decided);
    if (r.decided == verdict::drop)
      because(r);
    else
      r.value = factor(field::weight);
    if (r.decided == verdict::accumulate) whole(field::round, r.round);
    whole(field::staleness, r.staleness);
    const field_value& loss = from_[field::loss];
    r.loss = loss.is == field_value::type::null ? std::numeric_limits<float>::quiet_NaN() : factor(field::loss);
  }

  const field_values& from_;
  std::string_view text_;
  std::string problem_;
};

}  // namespace

std::string read_log_line(std::string_view text, log_line& to) {
  thread_local field_values values;
  values.begin();
  const bool parsed = json::sax_parse(text.begin(), text.end(), &values);
  if (!parsed || !values.is_object()) return "found what is no JSON object, expected one in each line";
  return line_reader{values, text}(to);
}

log_reading read_log(const std::filesystem::path& file, const std::function<std::string(const log_line&)>& each) {
  expect_log(file);
  support::text_lines lines{file, longest_line};
  log_reading reading;
  std::string text;
  log_line line;
  try {
    while (lines.next(text)) {
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
      reading.cut_off = !lines.ended();
      if (reading.cut_off) wrong = "found a line that is cut off, expected a whole one";
      throw support::user_error{lines.place() + ": " + wrong};
    }
  } catch (const support::ends_early& error) {
    if (reading.lines == 0) throw;
    reading.cut_off = true;
    reading.counted = false;
    reading.problem = error.what();
  } catch (const support::user_error& error) {  // or a line that is too long, or bad gzip data
    if (reading.lines == 0) throw;
    reading.problem = error.what();
    reading.unread = 1;
  }
  try {
    while (lines.skip()) ++reading.unread;
  } catch (const support::user_error&) {
    reading.counted = false;
  }
  if (lines.number() == 0) throw support::user_error{file.string() + ": found an empty file, expected a decision log"};
  return reading;
}

}  // namespace rubato::lab
