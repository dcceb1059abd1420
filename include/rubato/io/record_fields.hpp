#ifndef RUBATO_IO_RECORD_FIELDS_HPP
#define RUBATO_IO_RECORD_FIELDS_HPP

#include <string_view>

#include "../core/admission.hpp"

namespace rubato::inline RUBATO_ABI {

/// What a controller tells an observer. Satisfied by rubato::record (sync/observer.hpp), which io/ may not include.
template <class R>
concept ControllerRecord = requires { typename R::kind; } && requires(const R& r) {
  { r.what } -> std::convertible_to<typename R::kind>;
  { r.worker } -> std::convertible_to<worker_id>;
  { r.now } -> std::convertible_to<double>;
};

/// The kind of a record as it appears in logs, such as "change_policy".
template <ControllerRecord Record>
[[nodiscard]] constexpr std::string_view kind_name(const Record& r) noexcept {
  using kind = typename Record::kind;
  switch (r.what) {
    case kind::join: return "join";
    case kind::depart: return "depart";
    case kind::admit: return "admit";
    case kind::commit: return "commit";
    case kind::release: return "release";
    case kind::flush: return "flush";
    case kind::discard: return "discard";
    case kind::cancel: return "cancel";
    case kind::abandon: return "abandon";
    case kind::exclude: return "exclude";
    case kind::readmit: return "readmit";
    case kind::adjust: return "adjust";
    case kind::refuse: return "refuse";
    case kind::change_policy: return "change_policy";
  }
  return "invalid";
}

/// The verdict as it appears in logs.
[[nodiscard]] constexpr std::string_view name(verdict decided) noexcept {
  switch (decided) {
    case verdict::apply: return "apply";
    case verdict::accumulate: return "accumulate";
    case verdict::drop: return "drop";
    case verdict::repeated: return "repeated";
    case verdict::refused: return "refused";
  }
  return "invalid";
}

}  // namespace rubato::inline RUBATO_ABI

#endif
