#include "switching_policy.hpp"

#include <cmath>
#include <rubato/sync/asp.hpp>
#include <rubato/sync/bsp.hpp>
#include <string>

namespace rubato::lab {
namespace {

// Counts what the server has handled; at the switch everybody goes, also in the middle of a round.
class bsp_then_asp {
 public:
  explicit bsp_then_asp(std::uint64_t synchronous) : synchronous_{synchronous} {}

  [[nodiscard]] admission admit(const cluster_view&, const event&) const noexcept { return admission::apply(); }
  void observe(const feedback&) noexcept { ++pushes_; }
  [[nodiscard]] decision release(const cluster_view& view, const event&) const noexcept {
    return view.busy() > 0 && pushes_ < synchronous_ ? decision::hold() : decision::all();
  }
  [[nodiscard]] description describe() const {
    const std::string pushes = std::to_string(synchronous_);
    return {"bsp_then_asp: bsp:sum for " + pushes + " pushes, then asp",
            R"({"kind":"bsp_then_asp","synchronous":)" + pushes + "}"};
  }

  static constexpr std::string_view kind = "bsp_then_asp";

 private:
  std::uint64_t synchronous_;
  std::uint64_t pushes_ = 0;
};

static_assert(SyncPolicy<bsp_then_asp>);

}  // namespace

any_policy switching_policy(double share, std::uint64_t pushes) {
  if (share >= 1) return bsp{.aggregate = bsp::sum};
  if (share <= 0) return asp{};
  return bsp_then_asp{static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(pushes)))};
}

}  // namespace rubato::lab
