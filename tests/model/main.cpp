// Explores every rule: see program.hpp.
#include "program.hpp"
#include "rules.hpp"

int main(int count, char** arguments) {
  return rubato::test::model::run_program(rubato::test::model::all_rules(), count, arguments, 75'000);
}
