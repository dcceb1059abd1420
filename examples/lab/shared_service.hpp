#ifndef RUBATO_EXAMPLES_LAB_SHARED_SERVICE_HPP
#define RUBATO_EXAMPLES_LAB_SHARED_SERVICE_HPP

#include <cstdint>
#include <span>
#include <vector>

namespace rubato::lab {

/// A time that somebody computes: from `start` on, until it has had `work` or `end` comes.
struct computation {
  double start = 0;
  double end = 0;
  double work = 0;  ///< infinity: computes to the end
};

/// How much computing everybody who is there gets, over the time of a log, if so many cores are shared in equal parts:
/// the rule of sim::shared_resource, run backwards from known starts and ends.
///
/// Cost    O(n log n) to construct, O(log n) a question
/// Tests   tests/examples/shared_service_test.cpp: AloneEverybodyHasACore, CoresAreSharedInEqualParts,
///         WorkThatIsDoneFreesItsPart, IsWhatTheSimulatorDoes
class shared_service {
 public:
  /// Precondition: cores > 0; infinity gives everybody a core.
  shared_service(std::span<const computation>, double cores);

  /// What somebody who is there all the time has had between the start and `time`.
  [[nodiscard]] double until(double time) const;
  /// When that is so much. Infinity if it never is.
  [[nodiscard]] double when(double service) const;
  /// Service per time just before `time`.
  [[nodiscard]] double rate_before(double time) const;

 private:
  struct turn {
    double time = 0;
    double served = 0;
    double rate = 1;  ///< from here on
  };
  [[nodiscard]] const turn* before(double time) const;

  std::vector<turn> turns_;
};

}  // namespace rubato::lab

#endif
