#ifndef RUBATO_CUDA_DQN_STATE_CUH
#define RUBATO_CUDA_DQN_STATE_CUH

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <type_traits>

#include "../core/result.hpp"
#include "../nn/mlp_interface.hpp"
#include "../rl/dqn_options.hpp"
#include "../rl/environment.hpp"
#include "adam.cuh"
#include "network.cuh"
#include "shared_body.cuh"

namespace rubato::inline RUBATO_ABI::cuda {

/// What has happened to one agent of a dqn_learner: the counters of rl::dqn, and of its latest gradient step the loss.
struct dqn_agent {
  std::uint64_t recorded = 0;              ///< experiences ever put into the replay
  std::uint64_t rejected_transitions = 0;  ///< a number was not finite, an action unknown
  std::uint64_t iterations = 0;            ///< updates, due or not
  std::uint64_t updates = 0;               ///< gradient steps
  std::uint64_t rejected_updates = 0;      ///< the gradient was not finite: parameters were left alone
  adam_powers powers;                      ///< after `updates` steps of Adam
  double gradient_norm = 0;                ///< before clipping
  float loss = 0;                          ///< of the latest batch
};

/// Something to learn from, as rl::experience.
struct dqn_experience {
  const float* observation = nullptr;        ///< the state, Shape::inputs numbers
  const float* next = nullptr;               ///< the state that came after it, as many
  std::uint32_t action = 0;                  ///< that was taken, below Shape::outputs
  float reward = 0;                          ///< that it brought; of several steps, their return
  float discount = 0;                        ///< of the value of `next`; 0: the task was over
  std::uint32_t next_legal = rl::all_legal;  ///< a bit for each action that is legal in `next`
};

/// What is wrong with the options for learners on the device, or nullptr: they draw uniformly, step with Adam, and have
/// no dueling networks. Discounts and returns of several steps are made before an experience is recorded.
[[nodiscard]] inline const char* problem_on_device(const rl::dqn_options& options, std::size_t rows) noexcept {
  if (const char* what = problem(options)) return what;
  if (options.sample != rl::sampling::uniform) return "sample: expected uniform, on the device";
  if (options.optimiser != rl::optimiser_kind::adam) return "optimiser: expected adam, on the device";
  if (options.dueling) return "dueling: expected false, on the device";
  if (options.batch % rows != 0) return "batch: expected a multiple of the rows of a tile, on the device";
  return nullptr;
}

/// Many agents that learn at once, each as an rl::dqn: a view of memory that the caller gives, on the device or on the
/// host. Shape is that of the networks; a batch is cut into tiles of `Rows` samples.
///
///     using learner = cuda::dqn_learner<cuda::mlp_shape<40, 64, 32, 3>>;
///     cudaMalloc(&memory, learner::memory_needed(256, options));
///     auto agents = learner::over(memory, bytes, 256, options, {}, seed);
///     cuda::start(*agents, initial, 0, stream);
///     cuda::record_batch(*agents, 1, experiences, stream);
///     cuda::update(*agents, stream);
///
/// Trivially copyable: an argument of kernels. Its copies view the same memory.
/// Thread  one stream at a time.
/// Tests   tests/cuda/dqn_learner_test.cpp: BadOptionsAreNamed, MemoryIsCutIntoParts
template <class Shape, unsigned Rows = 32>
struct dqn_learner {
  static_assert(Shape::outputs <= rl::max_actions, "dqn_learner: more actions than a word has bits");
  using shape = Shape;                           ///< of the networks
  static constexpr unsigned rows = Rows;         ///< samples of a tile
  static constexpr std::size_t alignment = 256;  ///< bytes, of the memory
  /// Numbers from the parameters of one agent to those of the next, and so for its gradients and means.
  static constexpr std::size_t parameter_stride = (Shape::parameters + 31) / 32 * 32;
  /// Words of an observation: whole sectors of 32 bytes, as is an experience.
  static constexpr std::size_t observation_words = (Shape::inputs + 7) / 8 * 8;
  static constexpr std::size_t experience_words = 2 * observation_words + 8;  ///< of two observations and the rest

  /// What an experience has besides observations; it lies behind them.
  struct alignas(16) rest {
    std::uint32_t action;      ///< that was taken
    float reward;              ///< that it brought
    float discount;            ///< of the value of the next state; 0: the task was over
    std::uint32_t next_legal;  ///< a bit for each action that is legal in the next state
  };

  rl::dqn_options options;       ///< of all agents
  ending hidden;                 ///< of the hidden layers of all networks
  ending output;                 ///< of their last layer
  std::uint64_t seed = 0;        ///< of the batches that are drawn
  unsigned agents = 0;           ///< that learn
  dqn_agent* agent = nullptr;    ///< [agents]: what has happened to each
  float* online = nullptr;       ///< [agents x parameter_stride]: parameters of the networks that learn
  float* target = nullptr;       ///< the same, of the target networks
  float* first_mean = nullptr;   ///< the same, of gradients
  float* second_mean = nullptr;  ///< the same, of their squares
  float* gradient = nullptr;     ///< [agents x tiles() x parameter_stride]; after an update the first has the batch's
  float* loss = nullptr;         ///< [agents x tiles()]: each tile's part of the loss of its batch
  float* replay = nullptr;       ///< [agents x options.replay_capacity x experience_words]

  /// Bytes for so many agents; the largest of all numbers where they are more, which over() refuses.
  /// Tests   tests/cuda/dqn_learner_test.cpp: MemoryIsCutIntoParts, BadOptionsAreNamed
  [[nodiscard]] static std::size_t memory_needed(unsigned agents, const rl::dqn_options& options) noexcept {
    dqn_learner all;
    all.options = options;
    all.agents = agents;
    return all.place(nullptr);
  }

  /// A view of `memory`, in which nothing is written yet: cuda::start() does that. Agent a draws its batches as if its
  /// replay were sampled by random_sequence{seed, a}.
  /// Errors  invalid_option: problem_on_device(options); no agents; networks that problem(endings) refuses; memory that
  ///         is null, too small, or not aligned
  /// Tests   tests/cuda/dqn_learner_test.cpp: BadOptionsAreNamed, OneTileLearnsWithTheBitsOfRlDqn
  [[nodiscard]] static result<dqn_learner> over(void* memory, std::size_t bytes, unsigned agents,
                                                const rl::dqn_options& options, const nn::mlp_options& endings,
                                                std::uint64_t seed) {
    const auto refused = [](std::string what) { return error{errc::invalid_option, "dqn_learner: " + what}; };
    if (const char* what = problem_on_device(options, Rows)) return refused(what);
    if (const char* what = problem(endings)) return refused(what);
    if (agents == 0) return refused("agents: expected at least 1");
    if (options.undecided_action >= Shape::outputs)
      return refused("undecided_action: found " + std::to_string(options.undecided_action) + ", the network has " +
                     std::to_string(Shape::outputs) + " actions");
    if (memory == nullptr) return refused("memory: found a null pointer");
    if (reinterpret_cast<std::uintptr_t>(memory) % alignment != 0)
      return refused("memory: expected an address that " + std::to_string(alignment) + " divides");
    const std::size_t needed = memory_needed(agents, options);
    if (needed == too_much) return refused("memory: more than there are addresses for; expected fewer agents");
    if (bytes < needed)
      return refused("memory: found " + std::to_string(bytes) + " bytes, expected " + std::to_string(needed));
    dqn_learner all;
    all.options = options;
    all.hidden = endings.hidden;
    all.output = endings.output;
    all.seed = seed;
    all.agents = agents;
    static_cast<void>(all.place(memory));
    return all;
  }

  /// Tiles of a batch.
  [[nodiscard]] RUBATO_DETAIL_SHARED unsigned tiles() const noexcept {
    return static_cast<unsigned>(options.batch) / Rows;
  }
  /// The network of agent a that learns.
  [[nodiscard]] RUBATO_DETAIL_SHARED network<Shape> online_of(unsigned a) const noexcept {
    return network_at(online + a * parameter_stride);
  }
  /// Its target network, which follows `online`.
  [[nodiscard]] RUBATO_DETAIL_SHARED network<Shape> target_of(unsigned a) const noexcept {
    return network_at(target + a * parameter_stride);
  }
  /// The network that decides.
  [[nodiscard]] RUBATO_DETAIL_SHARED network<Shape> policy_of(unsigned a) const noexcept {
    return options.acts_with_target ? target_of(a) : online_of(a);
  }
  /// Room for the gradient of a tile, Shape::parameters numbers; after an update tile 0 has that of the batch.
  [[nodiscard]] RUBATO_DETAIL_SHARED float* gradient_of(unsigned a, unsigned tile) const noexcept {
    return gradient + (std::size_t{a} * tiles() + tile) * parameter_stride;
  }
  /// An experience: the observation, the next one `observation_words` further, and then its rest.
  [[nodiscard]] RUBATO_DETAIL_SHARED float* experience_at(unsigned a, std::uint64_t slot) const noexcept {
    return replay + (a * options.replay_capacity + slot) * experience_words;
  }
  /// A copy of what lies behind the observations of experience_at().
  [[nodiscard]] RUBATO_DETAIL_SHARED rest rest_of(const float* experience) const noexcept {
    rest of;
    __builtin_memcpy(&of, experience + 2 * observation_words, sizeof(of));
    return of;
  }
  /// Experiences that agent a can draw from.
  [[nodiscard]] RUBATO_DETAIL_SHARED std::uint64_t size_of(const dqn_agent& now) const noexcept {
    return now.recorded < options.replay_capacity ? now.recorded : options.replay_capacity;
  }
  /// Whether the next update makes a gradient step.
  [[nodiscard]] RUBATO_DETAIL_SHARED bool is_due(const dqn_agent& now) const noexcept {
    return size_of(now) >= options.learn_after && (now.iterations + 1) % options.update_every == 0;
  }

 private:
  [[nodiscard]] RUBATO_DETAIL_SHARED network<Shape> network_at(const float* parameters) const noexcept {
    return {parameters, hidden, output};
  }
  static constexpr std::size_t too_much = (std::numeric_limits<std::size_t>::max)();
  // Cuts the memory into parts, and answers how many bytes they are, at most too_much.
  [[nodiscard]] std::size_t place(void* memory) noexcept {
    std::size_t at = 0;
    // Each part has so many, times so many, ...
    const auto take = [&]<class T>(T*& part, std::initializer_list<std::size_t> counts) {
      part = memory == nullptr ? nullptr : reinterpret_cast<T*>(static_cast<unsigned char*>(memory) + at);
      std::size_t size = sizeof(T);
      for (const std::size_t count : counts) size = count > 0 && size > too_much / count ? too_much : size * count;
      if (at > too_much - alignment || size > too_much - alignment - at)
        at = too_much;
      else
        at += (size + alignment - 1) / alignment * alignment;
    };
    const std::size_t all = agents, batch_tiles = options.batch / Rows;
    take(agent, {all});
    for (float** part : {&online, &target, &first_mean, &second_mean}) take(*part, {all, parameter_stride});
    take(gradient, {all, batch_tiles, parameter_stride});
    take(loss, {all, batch_tiles});
    take(replay, {all, options.replay_capacity, experience_words});
    return at;
  }
};

/// Agent `a` as it begins: both networks from `initial` (Shape::parameters numbers), nothing recorded or learned. Ends
/// with a sync.
/// Tests   tests/cuda/dqn_learner_test.cpp: OneTileLearnsWithTheBitsOfRlDqn
template <class Shape, unsigned Rows, Lanes L>
RUBATO_DETAIL_SHARED void start_agent(const dqn_learner<Shape, Rows>& learner, unsigned a, const L& lanes,
                                      const float* initial) noexcept {
  const std::size_t first = a * learner.parameter_stride;
  for (std::size_t i = lanes.index(); i < Shape::parameters; i += lanes.count()) {
    learner.online[first + i] = learner.target[first + i] = initial[i];
    learner.first_mean[first + i] = learner.second_mean[first + i] = 0;
  }
  if (lanes.index() == 0) learner.agent[a] = dqn_agent{};
  lanes.sync();
}

/// Puts an experience into the replay of agent `a`, in the place of its oldest if that is full. One that is not finite,
/// or whose action does not exist, is counted as rejected. Ends with a sync.
/// Cost    reads and writes an experience; every lane looks at all of it. No allocation.
/// Tests   tests/cuda/dqn_learner_test.cpp: OldestExperienceIsReplaced, UnsoundExperiencesAreCounted
template <class Shape, unsigned Rows, Lanes L>
RUBATO_DETAIL_SHARED void record(const dqn_learner<Shape, Rows>& learner, unsigned a, const L& lanes,
                                 const dqn_experience& what) noexcept {
  dqn_agent& now = learner.agent[a];
  bool sound = what.action < Shape::outputs && detail::is_finite(what.reward) && detail::is_finite(what.discount);
  for (unsigned i = 0; i < Shape::inputs; ++i)
    sound = sound && detail::is_finite(what.observation[i]) && detail::is_finite(what.next[i]);
  if (sound) {
    float* const at = learner.experience_at(a, now.recorded % learner.options.replay_capacity);
    for (unsigned i = lanes.index(); i < Shape::inputs; i += lanes.count()) {
      at[i] = what.observation[i];
      at[learner.observation_words + i] = what.next[i];
    }
    if (lanes.index() == 0) {
      const typename dqn_learner<Shape, Rows>::rest of{what.action, what.reward, what.discount, what.next_legal};
      __builtin_memcpy(at + 2 * learner.observation_words, &of, sizeof(of));
    }
  }
  lanes.sync();  // all have read the counter
  if (lanes.index() == 0) ++(sound ? now.recorded : now.rejected_transitions);
  lanes.sync();
}

}  // namespace rubato::inline RUBATO_ABI::cuda

#endif
