#ifndef RUBATO_CUDA_SIMULATED_POPULATION_CUH
#define RUBATO_CUDA_SIMULATED_POPULATION_CUH

#include <cstddef>
#include <cstdint>

#include "simulated_cluster.cuh"

namespace rubato::inline RUBATO_ABI::cuda {

/// How many episodes: one of each candidate on each cluster.
struct search_size {
  std::uint32_t candidates = 1;  ///< policies that are tried
  std::uint32_t clusters = 1;    ///< for each candidate
  std::uint64_t first_seed = 1;  ///< cluster n has this plus n, whoever the candidate
  std::uint32_t blocks = 0;      ///< of the launch; 0: as many as run at once
};

/// What is wrong with the size, or nullptr.
/// Tests   tests/cuda/simulated_search_test.cpp: SaysWhatIsWrongWithASize
[[nodiscard]] inline const char* problem(const search_size& size) noexcept {
  if (size.candidates == 0 || size.candidates > 0x7fffffff) return "candidates: expected 1 to 2147483647";
  if (size.clusters == 0) return "clusters: expected at least 1";
  if (size.blocks > 0x7fffffff) return "blocks: expected at most 2147483647, or 0";
  return nullptr;
}

/// Candidates that are networks: candidate c's parameters begin at number c * Shape::parameters.
/// Tests   tests/cuda/simulated_search_test.cpp: SearchImprovesALearnedPolicy
template <class Shape, rlp_scale Scale = rlp_scale::raw>
struct q_candidates {
  using policy = simulated_q<Shape, Scale>;  ///< of a candidate
  const float* parameters = nullptr;         ///< [candidates x Shape::parameters], not owned
  ending hidden = network<Shape>{}.hidden;   ///< of the hidden layers, the same for all
  ending output{};                           ///< of the last layer, likewise

  /// The policy of a candidate, which reads its parameters where they are.
  [[nodiscard]] RUBATO_DETAIL_SHARED policy operator()(std::uint32_t candidate) const noexcept {
    return {{parameters + candidate * Shape::parameters, hidden, output}};
  }
};

/// The same policy, whoever the candidate.
/// Tests   tests/cuda/simulated_search_test.cpp: EpisodesHaveTheirPlaces
template <class Policy>
struct the_candidate {
  using policy = Policy;  ///< of the candidate
  Policy one{};           ///< that they all are

  [[nodiscard]] RUBATO_DETAIL_SHARED Policy operator()(std::uint32_t) const noexcept { return one; }  ///< a copy
};

/// What an episode costs. Of an episode that has not arrived the time is max_time; a loss may be anything.
enum class episode_cost : std::uint8_t {
  time,  ///< until the stop rule was met
  loss   ///< at the end
};

namespace detail {

// Episode e of candidates x clusters.
template <std::uint32_t MaxWorkers, class Goal, class Candidates, Lanes L>
RUBATO_DETAIL_SHARED episode_result
episode_of(const simulated_machines<MaxWorkers>& machines, const simulated_run& run, const Goal& goal,
           const Candidates& candidates, const search_size& size, std::uint64_t e, const L& lanes,
           simulated_memory<MaxWorkers, Goal, typename Candidates::policy>& memory) noexcept {
  const auto candidate = static_cast<std::uint32_t>(e / size.clusters);
  const std::uint64_t seed = size.first_seed + e % size.clusters;
  return simulate_episode(machines, run, goal, candidates(candidate), seed, lanes, memory);
}

inline constexpr std::uint32_t mean_parts = 32;

// The mean of so many episodes' costs: part p of the sum has episodes p, p + 32 and so on, and then the parts are
// added in their order. The bits of any number of lanes; `scratch` holds mean_parts numbers.
// Tests   tests/cuda/simulated_search_test.cpp: MeansDoNotDependOnLanes
template <Lanes L>
RUBATO_DETAIL_SHARED void mean_cost(const episode_result* episodes, std::uint32_t count, episode_cost cost,
                                    const L& lanes, double* scratch, double* out) noexcept {
  for (std::uint32_t p = lanes.index(); p < mean_parts; p += lanes.count()) {
    double sum = 0;
    for (std::uint64_t e = p; e < count; e += mean_parts)
      sum += cost == episode_cost::time ? episodes[e].time : episodes[e].loss;
    scratch[p] = sum;
  }
  lanes.sync();
  if (lanes.index() == 0) {
    double sum = 0;
    for (std::uint32_t p = 0; p < mean_parts; ++p) sum += scratch[p];
    *out = sum / count;
  }
  lanes.sync();
}

}  // namespace detail

/// simulate_episodes() and mean_costs() by one thread of the host: `out` has candidates x clusters episodes, `means`
/// a number for each candidate. For tests, and where there is no device.
/// Pre     problem(size) == nullptr; candidates and goal refer to memory of the host
/// Tests   tests/cuda/simulated_search_test.cpp: SearchImprovesALearnedPolicy, EpisodesHaveTheirPlaces
template <std::uint32_t MaxWorkers, class Goal, class Candidates>
void simulate_episodes_here(const simulated_machines<MaxWorkers>& machines, const simulated_run& run, const Goal& goal,
                            const Candidates& candidates, const search_size& size, episode_cost cost,
                            episode_result* out, double* means) {
  simulated_memory<MaxWorkers, Goal, typename Candidates::policy> memory;
  double scratch[detail::mean_parts];
  const std::uint64_t all = std::uint64_t{size.candidates} * size.clusters;
  for (std::uint64_t e = 0; e < all; ++e)
    out[e] = detail::episode_of(machines, run, goal, candidates, size, e, one_lane{}, memory);
  for (std::uint32_t c = 0; c < size.candidates; ++c)
    detail::mean_cost(out + std::uint64_t{c} * size.clusters, size.clusters, cost, one_lane{}, scratch, means + c);
}

}  // namespace rubato::inline RUBATO_ABI::cuda

#endif
