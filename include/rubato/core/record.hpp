#ifndef RUBATO_CORE_RECORD_HPP
#define RUBATO_CORE_RECORD_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "admission.hpp"
#include "event.hpp"

namespace rubato::inline RUBATO_ABI {

/// Something that a controller did, as its observer is told. Fields without meaning for a kind keep their defaults.
struct record {
  /// What was done; `adjust`: an input or a decision was corrected, or the guard overrode the policy.
  enum class kind : std::uint8_t {
    join, depart, admit, commit, release, flush, discard, cancel,
    abandon, exclude, readmit, adjust, refuse, change_policy
  };
  kind what = kind::admit;           ///< what was done
  cause why = cause::push;           ///< depart: leave, death or done
  verdict decided = verdict::apply;  ///< admit, commit
  reason because = reason::none;     ///< drops, discards, refusals, adjustments, abandoned tickets
  worker_id worker{};                ///< whom it is about; no_worker: nobody in particular
  double now = 0.0;                  ///< in the host's unit of time; never falls
  clock_type clock = 0;              ///< of the worker
  std::uint64_t version = 0;         ///< updates that are in; release: of the grant
  std::uint64_t staleness = 0;       ///< admit, commit
  std::uint64_t round = 0;           ///< admit (accumulate), flush, discard
  std::uint64_t step = 0;            ///< admit, commit
  std::uint32_t count = 0;           ///< flush, discard: gradients; release: batch
  float value = 0.0F;                ///< admit: weight; flush: scale; release: lr_scale
  float loss = 0.0F;                 ///< admit, commit
  std::uint32_t parked = 0;          ///< workers that wait, afterwards
};

/// The kind as it appears in logs.
[[nodiscard]] constexpr std::string_view name(record::kind what) noexcept {
  constexpr std::array<std::string_view, 14> names{"join",    "depart",  "admit",   "commit",  "release",
                                                   "flush",   "discard", "cancel",  "abandon", "exclude",
                                                   "readmit", "adjust",  "refuse",  "change_policy"};
  return static_cast<std::size_t>(what) < names.size() ? names[static_cast<std::size_t>(what)] : "invalid";
}

/// What a policy went by when it answered last, as numbers with names: the values of its actions, the level it holds.
struct insight {
  std::span<const std::string_view> names{};  ///< static; as many as there are values, none if it has nothing to show
  std::array<float, 4> values{};              ///< in the order of the names; need not be finite
};

/// How a policy presents itself: one line for people, one JSON object for machines.
struct description {
  std::string line;  ///< "ssp: no worker starts a step more than 3 steps ahead of the slowest"
  std::string json;  ///< {"kind":"ssp","staleness":3}: `kind`, and the options by their names
};

}  // namespace rubato::inline RUBATO_ABI

#endif
