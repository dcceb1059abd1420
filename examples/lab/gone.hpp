#ifndef RUBATO_EXAMPLES_LAB_GONE_HPP
#define RUBATO_EXAMPLES_LAB_GONE_HPP

#include <rubato/core/number_text.hpp>
#include <rubato/sync/rivals/treatment.hpp>
#include <string>
#include <utility>

namespace rubato::lab {

/// A treatment of any policy: from a time on it releases nobody any more and orders nothing else, as if whoever decides
/// were gone. So everybody waits but for whom the guard lets go, one at a time; rounds that the policy would close stay
/// open. What it says of single gradients and grants goes on: a host can do that by itself.
///
/// Tests   tests/examples/treatments_test.cpp: FromThenOnNobodyIsReleased, FromThenOnRoundsStayOpen
template <TreatablePolicy Policy>
struct gone : Policy {
  double from;  ///< the time

  gone(Policy policy, double time) : Policy(std::move(policy)), from{time} {}

  [[nodiscard]] decision release(const cluster_view& view, const event& what) noexcept {
    return what.now < from ? Policy::release(view, what) : decision::hold();
  }
  [[nodiscard]] description describe() const {
    const std::string time = rubato::detail::text_of(from);
    return rubato::detail::treated(static_cast<const Policy&>(*this), "gone from " + time + " on",
                                   R"("gone":")" + time + R"(")");
  }
};

}  // namespace rubato::lab

#endif
