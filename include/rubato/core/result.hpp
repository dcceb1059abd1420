#ifndef RUBATO_CORE_RESULT_HPP
#define RUBATO_CORE_RESULT_HPP

#include <array>
#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "reason.hpp"

namespace rubato::inline RUBATO_ABI {

/// How a call ended.
enum class [[nodiscard]] errc : std::uint8_t {
  ok,               ///< as it was meant to
  unknown_worker,   ///< index beyond the capacity, or never joined
  departed_worker,  ///< the worker left, finished or died
  old_incarnation,  ///< another incarnation is known under this index
  invalid_time,     ///< a time was not finite
  invalid_token,    ///< committed before, or never admitted
  no_pulls,         ///< pull() needs park_on = pull
  repeated,         ///< seen before; the ticket was taken over or answered
  busy,             ///< not now: admitted gradients are out, or somebody waits
  wrong_kind,       ///< the bytes belong to another policy or another format version
  corrupt,          ///< the bytes are not what was written
  invalid_option,   ///< an option is out of its range
  io                ///< reading or writing failed
};

/// The code as a word, such as "old_incarnation".
[[nodiscard]] constexpr std::string_view name(errc code) noexcept {
  constexpr std::array<std::string_view, 13> names{
      "ok",       "unknown_worker", "departed_worker", "old_incarnation", "invalid_time",   "invalid_token", "no_pulls",
      "repeated", "busy",           "wrong_kind",      "corrupt",         "invalid_option", "io"};
  return static_cast<std::size_t>(code) < names.size() ? names[static_cast<std::size_t>(code)] : "invalid";
}

/// What a call answers that was refused for this reason.
[[nodiscard]] constexpr errc error_of(reason why) noexcept {
  switch (why) {
    case reason::unknown_worker: return errc::unknown_worker;
    case reason::departed_worker: return errc::departed_worker;
    case reason::old_incarnation: return errc::old_incarnation;
    case reason::invalid_time: return errc::invalid_time;
    case reason::no_pulls: return errc::no_pulls;
    case reason::invalid_cause: return errc::invalid_option;
    case reason::repeated:
    case reason::replaced: return errc::repeated;
    default: return errc::invalid_token;
  }
}

/// An error for people: which value, in which file or argument, was wrong, and what was expected.
struct error {
  errc code = errc::ok;  ///< for programs
  std::string message;   ///< one sentence: what was wrong, and what was expected
};

/// A value, or the error that stands in its place. No exceptions; reading the wrong one is a broken precondition.
/// Can be copied if a T can; moving a T must not throw.
template <class T>
class [[nodiscard]] result {
 public:
  /// Holds a value. Implicit, as the next one, so that a call returns a value or an error as it is.
  result(T value) : has_value_{true}, value_{std::move(value)} {}                  // NOLINT(*-explicit-*)
  /// Holds an error; its code is not looked at.
  result(struct error problem) : has_value_{false}, error_{std::move(problem)} {}  // NOLINT(*-explicit-*)
  /// Copies the value or the error, or moves it.
  result(const result& other) requires std::copy_constructible<T> : has_value_{other.has_value_} { take(other); }
  result(result&& other) noexcept : has_value_{other.has_value_} { take(std::move(other)); }  ///< `other` is moved from
  result& operator=(result other) noexcept {
    std::destroy_at(this);
    return *std::construct_at(this, std::move(other));
  }  ///< copies or moves; one may take the place of the other
  ~result() { has_value_ ? std::destroy_at(&value_) : std::destroy_at(&error_); }

  [[nodiscard]] bool has_value() const noexcept { return has_value_; }       ///< else an error
  explicit operator bool() const noexcept { return has_value(); }            ///< has_value()
  [[nodiscard]] T& operator*() & noexcept { return *value(); }               ///< precondition: has_value()
  [[nodiscard]] const T& operator*() const& noexcept { return *value(); }    ///< precondition: has_value()
  [[nodiscard]] T&& operator*() && noexcept { return std::move(*value()); }  ///< precondition: has_value()
  [[nodiscard]] T* operator->() noexcept { return value(); }                 ///< precondition: has_value()
  [[nodiscard]] const T* operator->() const noexcept { return value(); }     ///< precondition: has_value()
  /// Precondition: !has_value().
  [[nodiscard]] const struct error& error() const noexcept {
    RUBATO_ASSERT(!has_value(), "error() of a result that has a value");
    return error_;
  }

 private:
  [[nodiscard]] const T* value() const noexcept {
    RUBATO_ASSERT(has_value(), "value of a result that holds an error");
    return &value_;
  }
  [[nodiscard]] T* value() noexcept { return const_cast<T*>(std::as_const(*this).value()); }

  template <class Other>
  void take(Other&& other) {
    if (has_value_)
      std::construct_at(&value_, std::forward<Other>(other).value_);
    else
      std::construct_at(&error_, std::forward<Other>(other).error_);
  }

  // Not a std::variant, which takes ten times as long to compile.
  bool has_value_;
  union {
    T value_;
    struct error error_;
  };
};

}  // namespace rubato::inline RUBATO_ABI

#endif
