#ifndef RUBATO_CUDA_MAILBOX_CUH
#define RUBATO_CUDA_MAILBOX_CUH

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>

#include "../core/result.hpp"
#include "lanes.cuh"

namespace rubato::inline RUBATO_ABI::cuda {

namespace detail {

/// A message as words of eight bytes, the lower half of which is the payload and the upper half the number of the
/// message. A word that carries the number is there; so nothing has to be ordered, and the reader fetches message and
/// arrival in one go, over a bus where each trip takes a microsecond.
RUBATO_DETAIL_SHARED inline std::uint64_t load_word(const std::uint64_t* from) noexcept {
#if RUBATO_DETAIL_DEVICE
  std::uint64_t word;
  asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(word) : "l"(from) : "memory");
  return word;
#else
  return __atomic_load_n(from, __ATOMIC_RELAXED);
#endif
}
RUBATO_DETAIL_SHARED inline void store_word(std::uint64_t* to, std::uint64_t word) noexcept {
#if RUBATO_DETAIL_DEVICE
  asm volatile("st.relaxed.sys.global.u64 [%0], %1;" : : "l"(to), "l"(word) : "memory");
#else
  __atomic_store_n(to, word, __ATOMIC_RELAXED);
#endif
}
[[nodiscard]] RUBATO_DETAIL_SHARED constexpr std::uint64_t word_of(std::uint32_t number,
                                                                   std::uint32_t payload) noexcept {
  return (std::uint64_t{number} << 32) | payload;
}

// What the first word of a message says: of a question what it is, of an answer how many words follow.
inline constexpr std::uint32_t is_question = 1, is_stop = 2;

}  // namespace detail

/// Where a host asks and a kernel that stays on the device answers: memory of the host that is mapped into the device
/// (cudaHostAlloc with cudaHostAllocMapped), zero at first. Both types are trivially copyable, of whole words of four
/// bytes.
template <class Question, class Answer>
struct mailbox {
  static_assert(std::is_trivially_copyable_v<Question> && std::is_trivially_copyable_v<Answer>);
  static_assert(sizeof(Question) % 4 == 0 && sizeof(Answer) % 4 == 0 && alignof(Question) >= 4 && alignof(Answer) >= 4,
                "mailbox: messages of whole words");
  static constexpr std::size_t question_words = sizeof(Question) / 4;
  static constexpr std::size_t answer_words = sizeof(Answer) / 4;

  alignas(128) std::uint64_t question[1 + question_words];
  alignas(128) std::uint64_t answer[1 + answer_words];
};

/// Waits for question `number` (from 1 on), and fetches it; false if it says that no other will come. Each lane waits
/// for its words. `to` and `stops` are seen by all lanes; ends with a sync.
/// Tests   tests/cuda/mailbox_test.cpp: AnswersInTurn, AnyNumberOfLanesAnswers, StopsWhenAsked
template <class Question, class Answer, Lanes L>
RUBATO_DETAIL_SHARED bool receive(const mailbox<Question, Answer>& box, std::uint32_t number, const L& lanes,
                                  Question& to, std::uint32_t& stops) noexcept {
  auto* const payload = reinterpret_cast<unsigned char*>(&to);
  for (std::size_t i = lanes.index(); i <= box.question_words; i += lanes.count()) {
    std::uint64_t word = detail::load_word(box.question + i);
    while (static_cast<std::uint32_t>(word >> 32) != number) {
#if !RUBATO_DETAIL_DEVICE
      std::this_thread::yield();
#endif
      word = detail::load_word(box.question + i);
    }
    const auto value = static_cast<std::uint32_t>(word);
    if (i == 0)
      stops = value == detail::is_stop ? 1 : 0;
    else
      __builtin_memcpy(__builtin_assume_aligned(payload + (i - 1) * 4, 4), &value, 4);
  }
  lanes.sync();
  return stops == 0;
}

/// Sends the first `words` words of the answer to question `number`.
template <class Question, class Answer, Lanes L>
RUBATO_DETAIL_SHARED void reply(mailbox<Question, Answer>& box, std::uint32_t number, const L& lanes,
                                const Answer& answer, std::size_t words) noexcept {
  const auto* const payload = reinterpret_cast<const unsigned char*>(&answer);
  for (std::size_t i = lanes.index(); i <= words; i += lanes.count()) {
    auto value = static_cast<std::uint32_t>(words);
    if (i > 0) __builtin_memcpy(&value, __builtin_assume_aligned(payload + (i - 1) * 4, 4), 4);
    detail::store_word(box.answer + i, detail::word_of(number, value));
  }
}

/// Answers questions until one says that no other will come, and acknowledges that: what the kernel of a mailbox does.
/// `answerer(question, answer)` is called by all lanes, ends with a sync, and returns how many words of the answer are
/// to be sent; question and answer are seen by all lanes.
/// Tests   tests/cuda/mailbox_test.cpp: AnswersInTurn, AnyNumberOfLanesAnswers, StopsWhenAsked
template <class Question, class Answer, Lanes L, class Answerer>
RUBATO_DETAIL_SHARED void serve(mailbox<Question, Answer>& box, const L& lanes, Question& question, Answer& answer,
                                std::uint32_t& stops, Answerer&& answerer) noexcept {
  std::uint32_t number = 1;
  for (; receive(box, number, lanes, question, stops); ++number) {
    const std::size_t words = answerer(question, answer);
    reply(box, number, lanes, answer, words);
    lanes.sync();  // who is quicker must not fetch the next question into what others still send
  }
  reply(box, number, lanes, answer, 0);
}

/// The host's end of a mailbox: one question at a time, by one thread.
///
///     cuda::mailbox_client client{*box};
///     cuda::decision_record<64> record;
///     error e = client.ask({.worker = w, .now = now}, record, 0.01, [&] { return is_running(stream); });
///
/// `alive` is asked now and then while no answer comes; false says that the kernel is gone. After an answer that did
/// not come the mailbox is of no use: each further question is refused.
/// Errors  io: no answer within `limit` seconds; the kernel is gone; an earlier answer did not come
/// Cost    spins. No allocation but in errors.
/// Tests   tests/cuda/mailbox_test.cpp: AnswersInTurn, GivesUpAtTheLimit, NoticesThatTheKernelIsGone, StopsWhenAsked
template <class Question, class Answer>
class mailbox_client {
 public:
  explicit mailbox_client(mailbox<Question, Answer>& box) noexcept : box_{&box} {}

  template <class Alive>
  error ask(const Question& question, Answer& answer, double limit, Alive&& alive) {
    return exchange(detail::is_question, &question, &answer, limit, alive);
  }
  /// Ends the kernel. Afterwards nothing can be asked.
  template <class Alive>
  error stop(double limit, Alive&& alive) {
    error e = exchange(detail::is_stop, nullptr, nullptr, limit, alive);
    closed_ = true;
    return e;
  }

 private:
  using clock = std::chrono::steady_clock;
  using box_type = mailbox<Question, Answer>;

  template <class Alive>
  error exchange(std::uint32_t what, const Question* question, Answer* answer, double limit, Alive& alive) {
    if (closed_) return {errc::io, "mailbox: closed, since it was stopped or an answer did not come"};
    ++number_;
    for (std::size_t i = box_type::question_words; i > 0; --i) {
      std::uint32_t value = 0;
      if (question != nullptr)
        __builtin_memcpy(&value, reinterpret_cast<const unsigned char*>(question) + (i - 1) * 4, 4);
      detail::store_word(box_->question + i, detail::word_of(number_, value));
    }
    detail::store_word(box_->question, detail::word_of(number_, what));

    const auto end = clock::now() + std::chrono::duration_cast<clock::duration>(std::chrono::duration<double>{limit});
    std::uint32_t words = 0;
    if (error e = fetch(0, words, end, limit, alive); e.code != errc::ok) return e;
    for (std::size_t i = 1; i <= words && answer != nullptr; ++i) {
      std::uint32_t value = 0;
      if (error e = fetch(i, value, end, limit, alive); e.code != errc::ok) return e;
      __builtin_memcpy(reinterpret_cast<unsigned char*>(answer) + (i - 1) * 4, &value, 4);
    }
    return {};
  }

  template <class Alive>
  error fetch(std::size_t i, std::uint32_t& value, clock::time_point end, double limit, Alive& alive) {
    for (std::uint32_t spins = 1;; ++spins) {
      const std::uint64_t word = detail::load_word(box_->answer + i);
      value = static_cast<std::uint32_t>(word);
      if (static_cast<std::uint32_t>(word >> 32) == number_) return {};
      if (spins % spins_between_looks != 0) continue;
      std::this_thread::yield();  // where threads outnumber the cores, the answer may wait for this one
      const bool late = clock::now() > end;
      if (!late && alive()) continue;
      closed_ = true;
      const std::string question = "mailbox: no answer to question " + std::to_string(number_);
      if (late) return {errc::io, question + " within " + std::to_string(limit) + " s"};
      return {errc::io, question + ": the kernel is gone"};
    }
  }

  // Some 25 us: looking at the clock takes longer than at the word, and asking for a stream much longer.
  static constexpr std::uint32_t spins_between_looks = 1U << 14;

  box_type* box_;
  std::uint32_t number_ = 0;
  bool closed_ = false;
};

template <class Question, class Answer>
mailbox_client(mailbox<Question, Answer>&) -> mailbox_client<Question, Answer>;

}  // namespace rubato::inline RUBATO_ABI::cuda

#endif
