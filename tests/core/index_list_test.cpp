#include <gtest/gtest.h>

#include <cstdint>
#include <list>
#include <rubato/core/index_list.hpp>
#include <rubato/core/rng.hpp>
#include <vector>

namespace rubato {
namespace {

TEST(IndexList, AgreesWithAStdList) {
  constexpr std::uint32_t n = 8;
  std::vector<index_link> links(n);
  index_list list;
  std::list<std::uint32_t> expected;
  std::vector<bool> in(n);
  random_sequence random{1};
  for (int step = 0; step < 5000; ++step) {
    const auto w = static_cast<std::uint32_t>(random.below(n));
    if (in[w]) {
      list.erase(w, links);
      expected.remove(w);
    } else {
      list.push_back(w, links);
      expected.push_back(w);
    }
    in[w] = !in[w];

    ASSERT_EQ(list.size, expected.size());
    ASSERT_EQ(list.front, expected.empty() ? no_worker : expected.front());
    ASSERT_EQ(list.back, expected.empty() ? no_worker : expected.back());
    std::vector<std::uint32_t> forwards;
    for (std::uint32_t i = list.front; i != no_worker; i = links[i].after) forwards.push_back(i);
    ASSERT_EQ(forwards, (std::vector<std::uint32_t>{expected.begin(), expected.end()}));
    std::vector<std::uint32_t> backwards;
    for (std::uint32_t i = list.back; i != no_worker; i = links[i].before) backwards.push_back(i);
    ASSERT_EQ(backwards, (std::vector<std::uint32_t>{expected.rbegin(), expected.rend()}));
  }
}

}  // namespace
}  // namespace rubato
