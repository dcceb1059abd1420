#include <gtest/gtest.h>

#include <rubato/core/cluster_view.hpp>

namespace rubato {
namespace {

TEST(ClusterView, NothingIsKnownWithoutASubmitter) {
  const roster workers{3};
  const view_totals totals;
  const cluster_view view{workers, totals, no_worker};
  EXPECT_EQ(view.submitter(), no_worker);
  EXPECT_EQ(view.clock_of_submitter(), 0u);
  EXPECT_EQ(view.step_time_of_submitter(), 0.0F);
  EXPECT_EQ(view.speed_rank(), 0u);
}

TEST(ClusterView, NoMedianBeforeTheFirstStep) {
  const roster workers{3};
  const view_totals totals;
  EXPECT_EQ((cluster_view{workers, totals, no_worker}.median_step_time()), 0.0F);
}

}  // namespace
}  // namespace rubato
