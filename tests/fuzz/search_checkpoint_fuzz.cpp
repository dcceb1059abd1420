// Checkpoints of searches, with a checksum that is right whatever they say. One that is refused changes nothing; after
// one that loads the parameters are numbers and the search goes on.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <rubato/rl/antithetic_es.hpp>
#include <rubato/rl/cma_es.hpp>
#include <rubato/rl/search_training.hpp>
#include <string>
#include <vector>

#include "../support/sealed.hpp"
#include "fuzz_target.hpp"
#include "scratch_folder.hpp"

namespace rubato::fuzz {
namespace of_search_checkpoint {

const std::vector<float> beginning(3, 0.5F);

bool measure(std::span<const rl::trial> trials, std::span<double> costs) {
  std::ranges::transform(trials, costs.begin(), [](const rl::trial& t) {
    double squares = 0;
    for (const float x : t.parameters) squares += static_cast<double>(x) * static_cast<double>(x);
    return squares;
  });
  return true;
}

template <class Search>
void try_on(const Search& search, const std::string& file) {
  const rl::search_training_options how{.seed = 3,
                                        .task = "parabola",
                                        .runs = 2,
                                        .rounds = 1,
                                        .select_every = 2,
                                        .selection_runs = 2,
                                        .checkpoint = file};
  rl::search_trainer training{search, how};
  const auto resumed = training.resume();
  if (!resumed) {
    const error& e = resumed.error();
    require(e.code == errc::corrupt || e.code == errc::wrong_kind, "a known refusal");
    require(e.message.starts_with(file + ": ") && is_plain(e.message) && e.message.size() < 2000,
            "it says why:", e.message);
    return require(training.generation() == 0 && training.best() == beginning && training.selections().empty(),
                   "who is refused has not changed");
  }
  for (const float x : training.best()) require(std::isfinite(x), "parameters are numbers");
  if (*resumed == ~std::uint64_t{0}) return;  // nobody can go on from there
  const auto went_on = training.run(*resumed + 1, measure);
  if (!went_on) {  // parameters have become too large for a network
    const error& e = went_on.error();
    return require(e.message.find("not written: found") != e.message.npos, "it says why:", e.message);
  }
  require(*went_on == *resumed + 1, "the search goes on");
  rl::search_trainer another{search, how};
  const auto again = another.resume();
  require(again && *again == *went_on, "what it writes then loads:", again ? "" : again.error().message);
}

void run(input bytes) {
  static const scratch_folder folder;
  input_reader in{bytes};
  const bool pairs = in.byte() % 2 == 1;
  const std::string file = folder.write("search", test::sealed(text_of(in.rest())));
  if (pairs)
    try_on(*rl::antithetic_es::make(beginning, {.population = 4}), file);
  else
    try_on(*rl::cma_es::make(beginning, {.population = 4}), file);
}

const registered here{"search_checkpoint", run};

}  // namespace of_search_checkpoint
}  // namespace rubato::fuzz
