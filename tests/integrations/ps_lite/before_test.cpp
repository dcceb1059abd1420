// The server of the README before the diff: the test of the other one would tell.
#include "readme.hpp"

#include <unordered_map>
#include <vector>

namespace rubato::test::before {  // the other server has classes of the same names
#include "../../../integrations/ps_lite/example/before.hpp"
}  // namespace rubato::test::before

namespace rubato::test {
namespace {

TEST(PsLiteReadme, WithoutTheDiffNobodyWaits) {
  ps::KVServer<float> server{0};
  const before::training_server trained{server};
  EXPECT_EQ(lead_of_a_fast_worker(server, before::train), 100);
}

}  // namespace
}  // namespace rubato::test
