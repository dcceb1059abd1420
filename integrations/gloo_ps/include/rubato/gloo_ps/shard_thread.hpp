#ifndef RUBATO_GLOO_PS_SHARD_THREAD_HPP
#define RUBATO_GLOO_PS_SHARD_THREAD_HPP

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "shard.hpp"

namespace rubato::inline RUBATO_ABI::gloo_ps {

/// Waits until as many have reported as were expected. Shared by those who report and the one who waits.
class countdown {
 public:
  explicit countdown(std::uint32_t expected) : missing_{expected} {}  ///< reports; at least 1
  /// One report. No more than were expected.
  void arrive() {
    const std::lock_guard lock{mutex_};
    if (--missing_ == 0) all_in_.notify_all();
  }
  /// Returns at once when all have reported.
  void wait() {
    std::unique_lock lock{mutex_};
    all_in_.wait(lock, [this] { return missing_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable all_in_;
  std::uint32_t missing_;
};

/// A gradient, cut into the parts of the shards; `acks` counts the shards that have dealt with theirs.
struct split_gradient {
  /// One part per shard, in their order.
  explicit split_gradient(std::vector<std::vector<float>> of_shards)
      : parts{std::move(of_shards)}, acks{static_cast<std::uint32_t>(parts.size())} {}
  std::vector<std::vector<float>> parts;  ///< one per shard; read by its thread
  countdown acks;                         ///< as many as parts
};

/// One thing that a shard has to do.
struct shard_effect {
  /// What an effect does.
  enum class kind : std::uint8_t {
    apply,    ///< one update by a gradient
    add,      ///< its gradient joins a round
    flush,    ///< one update by the sum of a round
    discard,  ///< that sum is thrown away
    visit     ///< the shard stays as it is, unless `look` changes it
  };
  kind what = kind::visit;                     ///< which of them
  float factor = 1;                            ///< apply, add: applied_weight(); flush: the scale
  std::uint64_t round = 0;                     ///< add, flush, discard
  std::shared_ptr<split_gradient> gradient{};  ///< apply, add
  std::function<void(shard&)> look{};          ///< visit: read or copy it, in its place among the others
};

/// A shard with the thread that owns it and its one queue: verdicts, flushes and reads take effect in the order in
/// which they were put in. Whoever puts effects into several shards does so under one lock, so that all of them have
/// the same order.
///
/// A rule that throws has its update counted all the same, so that all shards have the same updates; take_failure()
/// says what it has thrown.
///
/// Thread  put() and take_failure() from any; the destructor carries out what was put in before it
/// Tests   tests/integrations/gloo_ps/shard_test.cpp: OneOrder, ReadsSeeWhatCameBefore, ARuleThatThrowsIsTold
class shard_thread {
 public:
  /// `index`: which of a split_gradient's parts is its own. Throws std::system_error if there is no thread.
  shard_thread(std::uint32_t index, shard held) : index_{index}, shard_{std::move(held)}, thread_{[this] { run(); }} {}
  shard_thread(const shard_thread&) = delete;
  shard_thread& operator=(const shard_thread&) = delete;
  ~shard_thread() {
    {
      const std::lock_guard lock{mutex_};
      closing_ = true;
    }
    news_.notify_one();
    thread_.join();
  }

  /// Puts it at the end of the queue, and does not wait for it.
  void put(shard_effect effect) {
    {
      const std::lock_guard lock{mutex_};
      queue_.push_back(std::move(effect));
    }
    news_.notify_one();
  }

  /// What the update rule, or memory that is short, has thrown last, since this was last asked; empty if nothing.
  [[nodiscard]] std::string take_failure() {
    const std::lock_guard lock{mutex_};
    return std::exchange(failure_, {});
  }

 private:
  void run() {
    std::deque<shard_effect> work;
    for (;;) {
      {
        std::unique_lock lock{mutex_};
        news_.wait(lock, [this] { return closing_ || !queue_.empty(); });
        if (queue_.empty()) return;
        work.swap(queue_);
      }
      for (shard_effect& effect : work) carry_out(effect);
      work.clear();
    }
  }
  void carry_out(shard_effect& e) {
    try {
      move_by(e);
    } catch (const std::exception& thrown) {
      if (e.what == shard_effect::kind::apply) shard_.skip();
      const std::lock_guard lock{mutex_};
      failure_ = thrown.what();
    }
    if (e.gradient) e.gradient->acks.arrive();
  }
  void move_by(shard_effect& e) {
    switch (e.what) {
      case shard_effect::kind::apply:
        shard_.apply(e.gradient->parts[index_], e.factor);
        break;
      case shard_effect::kind::add:
        shard_.add(e.round, e.gradient->parts[index_], e.factor);
        break;
      case shard_effect::kind::flush:
        shard_.flush(e.round, e.factor);
        break;
      case shard_effect::kind::discard:
        shard_.discard(e.round);
        break;
      case shard_effect::kind::visit:
        e.look(shard_);
        break;
    }
  }

  const std::uint32_t index_;
  std::mutex mutex_;
  std::condition_variable news_;
  std::deque<shard_effect> queue_;
  bool closing_ = false;
  std::string failure_;
  shard shard_;
  std::thread thread_;  // last: it uses the others
};

}  // namespace rubato::inline RUBATO_ABI::gloo_ps

#endif
