// The rules that seeded.py explores with headers in which a bug was put.
#include <rubato/sync/asp.hpp>
#include <rubato/sync/rivals/buffered.hpp>
#include <rubato/sync/rivals/k_async.hpp>
#include <rubato/sync/rivals/k_sync.hpp>

#include "program.hpp"
#include "wishes_of_aap.hpp"

int main(int count, char** arguments) {
  using namespace rubato;
  using rubato::test::model::any_answer, rubato::test::model::wishes_of_aap;
  const std::vector<rubato::test::model::rule> rules{
      {"bsp", bsp{}, {.rounds = true}},
      {"asp", asp{}, {}},
      {"ssp_1", ssp{.staleness = 1}, {}},
      {"k_sync_2", k_sync{.k = 2}, {.cancels = true, .rounds = true}},
      {"k_async_2", k_async{.k = 2}, {.rounds = true}},
      {"buffered_2_2_2", buffered{.active = 2, .buffer = 2, .open = 2}, {}},
      {"aap_all",
       aap{.floor = unbounded, .staleness = 1},
       {.timed = true, .named = true, .absolute = true, .staleness = true, .unsaved = wishes_of_aap}},
      {"any_answer", any_answer{.bound = 1}, {.slowest = true, .cancels = true, .arbitrary = true}}};
  return rubato::test::model::run_program(rules, count, arguments, 300'000);
}
