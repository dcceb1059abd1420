#ifndef RUBATO_SYNC_EXTRAS_OBSERVERS_HPP
#define RUBATO_SYNC_EXTRAS_OBSERVERS_HPP

#include <cstddef>
#include <tuple>
#include <utility>

#include "../observer.hpp"

namespace rubato::inline RUBATO_ABI {

/// Several observers in the place of one: each is told every record, in the order of the arguments.
///
///     rubato::controller<rubato::asp, ticket, rubato::observers<rubato::scores, rubato::chrome_trace>> sync{...};
///     sync.watcher().get<rubato::scores>().missing(now);
///
/// Cost    that of each. No allocation of its own. Not thread-safe.
/// Tests   tests/extras/observers_test.cpp: EachIsToldEverythingInOrder, TellsOfAnswersWhoWantsToKnow,
///         MayBeMovedOnly
template <Observer... Watchers>
class observers {
 public:
  explicit(sizeof...(Watchers) == 1) observers(Watchers... all) : all_{std::move(all)...} {}  ///< told in this order

  void operator()(const record& r) noexcept {
    std::apply([&](Watchers&... each) { (each(r), ...); }, all_);
  }  ///< tells each of them

  /// Tells those of them who want to know.
  void answered(const event& asked, const decision& answer, const insight& by) noexcept
    requires(AnswerObserver<Watchers> || ...)
  {
    const auto tell = [&]<class Watcher>(Watcher& each) {
      if constexpr (AnswerObserver<Watcher>) each.answered(asked, answer, by);
    };
    std::apply([&](Watchers&... each) { (tell(each), ...); }, all_);
  }

  /// One of them, by its type. Precondition: there is one of that type.
  template <class Watcher>
  [[nodiscard]] Watcher& get() noexcept {
    return std::get<Watcher>(all_);
  }
  /// One of them, by its place, from 0.
  template <std::size_t place>
  [[nodiscard]] auto& get() noexcept {
    return std::get<place>(all_);
  }

 private:
  std::tuple<Watchers...> all_;
};

}  // namespace rubato::inline RUBATO_ABI

#endif
