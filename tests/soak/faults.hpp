#ifndef RUBATO_TESTS_SOAK_FAULTS_HPP
#define RUBATO_TESTS_SOAK_FAULTS_HPP

#include <cstdint>
#include <rubato/core/result.hpp>
#include <string>

namespace rubato::test {

/// How much of what may go wrong with a host did: the same seed gives the same numbers.
struct faults {
  std::uint64_t departures = 0, deaths = 0, returns = 0;  ///< deaths: also those that a return alone has told of
  std::uint64_t silences = 0, lost_tickets = 0;
  std::uint64_t repeated = 0, refused = 0;             ///< messages said twice, and nonsense, as they were answered
  std::uint64_t jumps = 0, setbacks = 0, anew = 0;     ///< of the clock: ahead, back, and begun anew
  std::uint64_t switches = 0, reloads = 0;             ///< reloads: saved, and loaded by a fresh controller
  std::uint64_t cancelled = 0;                         ///< steps
  std::uint64_t withheld = 0, forced = 0, spared = 0;  ///< by the guard: starts, starts, cancellations

  void answered(errc result) {
    repeated += result == errc::repeated;
    refused += result != errc::ok && result != errc::repeated;
  }
  faults& operator+=(const faults& more) {
    departures += more.departures, deaths += more.deaths, returns += more.returns;
    silences += more.silences, lost_tickets += more.lost_tickets;
    repeated += more.repeated, refused += more.refused;
    jumps += more.jumps, setbacks += more.setbacks, anew += more.anew;
    switches += more.switches, reloads += more.reloads;
    cancelled += more.cancelled;
    withheld += more.withheld, forced += more.forced, spared += more.spared;
    return *this;
  }
  friend bool operator==(const faults&, const faults&) = default;

  [[nodiscard]] std::string words() const {
    const auto n = [](std::uint64_t count, const char* what) { return std::to_string(count) + what; };
    return n(departures, " departures, ") + n(deaths, " deaths, ") + n(returns, " returns, ") +
           n(silences, " silences, ") + n(lost_tickets, " lost tickets, ") + n(repeated, " messages said twice, ") +
           n(refused, " refused, ") + n(cancelled, " steps cancelled, ") + n(switches, " switches, ") +
           n(reloads, " saves and loads; the clock jumped ahead ") + n(jumps, " times, ran back ") +
           n(setbacks, ", began anew ") + n(anew, "; the guard withheld ") + n(withheld, " starts, forced ") +
           n(forced, ", and spared ") + n(spared, " steps");
  }
};

}  // namespace rubato::test

#endif
