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
/// arrival in one go, over a bus where each trip takes a microsecond. What a message points at is another matter: hosts
/// order it before the message, see decisions_kernel for the device.
RUBATO_DETAIL_SHARED inline std::uint64_t load_word(const std::uint64_t* from) noexcept {
#if RUBATO_DETAIL_DEVICE
  std::uint64_t word;
  asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(word) : "l"(from) : "memory");
  return word;
#else
  return __atomic_load_n(from, __ATOMIC_ACQUIRE);
#endif
}
RUBATO_DETAIL_SHARED inline void store_word(std::uint64_t* to, std::uint64_t word) noexcept {
#if RUBATO_DETAIL_DEVICE
  asm volatile("st.relaxed.sys.global.u64 [%0], %1;" : : "l"(to), "l"(word) : "memory");
#else
  __atomic_store_n(to, word, __ATOMIC_RELEASE);
#endif
}
[[nodiscard]] RUBATO_DETAIL_SHARED constexpr std::uint64_t word_of(std::uint32_t number,
                                                                   std::uint32_t payload) noexcept {
  return (std::uint64_t{number} << 32) | payload;
}

// Messages are numbered from 1 to last_number, and from 1 again: what was never written carries 0. A stop has a number
// of its own, so that it is seen whichever question is waited for.
inline constexpr std::uint32_t stop_number = 0xffff'ffff, last_number = stop_number - 1;
[[nodiscard]] RUBATO_DETAIL_SHARED constexpr std::uint32_t number_after(std::uint32_t number) noexcept {
  return number >= last_number ? 1 : number + 1;
}

// By any of the lanes that see it.
RUBATO_DETAIL_SHARED inline void raise(std::uint32_t& flag) noexcept {
#if RUBATO_DETAIL_DEVICE
  flag = 1;
#else
  __atomic_store_n(&flag, 1U, __ATOMIC_RELAXED);
#endif
}

}  // namespace detail

/// Where a host asks and a kernel that stays on the device answers: memory of the host that is mapped into the device
/// (cudaHostAlloc with cudaHostAllocMapped), zero at first. Both types are trivially copyable, of whole words of four
/// bytes.
template <class Question, class Answer>
struct mailbox {
  static_assert(std::is_trivially_copyable_v<Question> && std::is_trivially_copyable_v<Answer>);
  static_assert(sizeof(Question) % 4 == 0 && sizeof(Answer) % 4 == 0 && alignof(Question) >= 4 && alignof(Answer) >= 4,
                "mailbox: messages of whole words");
  static constexpr std::size_t question_words = sizeof(Question) / 4;  ///< of four bytes
  static constexpr std::size_t answer_words = sizeof(Answer) / 4;      ///< the most that are sent

  alignas(128) std::uint64_t question[question_words];  ///< by the host: number of the message << 32 | a word of it
  alignas(128) std::uint64_t answer[1 + answer_words];  ///< by the device; the first says how many follow
};

/// Waits for question `number` (from 1 on), and fetches it; false if the host stops the kernel, whichever question was
/// to come. Each lane waits for its words. `to` and `stops`, which is 0 at first, are seen by all lanes; ends with a
/// sync.
/// Tests   tests/cuda/mailbox_test.cpp: AnswersInTurn, AnyNumberOfLanesAnswers, StopsWhenAsked, StopsWhatIsLate
template <class Question, class Answer, Lanes L>
RUBATO_DETAIL_SHARED bool receive(const mailbox<Question, Answer>& box, std::uint32_t number, const L& lanes,
                                  Question& to, std::uint32_t& stops) noexcept {
  auto* const payload = reinterpret_cast<unsigned char*>(&to);
  for (std::size_t i = lanes.index(); i < box.question_words; i += lanes.count()) {
    for (;;) {
      const std::uint64_t word = detail::load_word(box.question + i);
      const auto found = static_cast<std::uint32_t>(word >> 32), value = static_cast<std::uint32_t>(word);
      if (found == number || found == detail::stop_number) {
        if (found != number) detail::raise(stops);
        __builtin_memcpy(__builtin_assume_aligned(payload + i * 4, 4), &value, 4);
        break;
      }
#if !RUBATO_DETAIL_DEVICE
      std::this_thread::yield();
#endif
    }
  }
  lanes.sync();
  return stops == 0;
}

/// Sends the first `words` words of the answer to question `number`. Around the end of the numbers it sends all of
/// them, so that no word is left which carries a number that will come again.
/// Tests   tests/cuda/mailbox_test.cpp: NumbersComeAgain
template <class Question, class Answer, Lanes L>
RUBATO_DETAIL_SHARED void reply(mailbox<Question, Answer>& box, std::uint32_t number, const L& lanes,
                                const Answer& answer, std::size_t words) noexcept {
  const auto* const payload = reinterpret_cast<const unsigned char*>(&answer);
  const std::size_t sent = number == 1 || number == detail::last_number ? box.answer_words : words;
  for (std::size_t i = lanes.index(); i <= sent; i += lanes.count()) {
    auto value = static_cast<std::uint32_t>(words);
    if (i > 0) __builtin_memcpy(&value, __builtin_assume_aligned(payload + (i - 1) * 4, 4), 4);
    detail::store_word(box.answer + i, detail::word_of(number, value));
  }
}

/// Answers questions until the host stops it, and acknowledges that: what the kernel of a mailbox does.
/// `answerer(question, answer)` is called by all lanes, ends with a sync, and returns how many words of the answer are
/// to be sent; question, answer and `stops` are seen by all lanes. `first`: the number of the first question.
/// Tests   tests/cuda/mailbox_test.cpp: AnswersInTurn, AnyNumberOfLanesAnswers, StopsWhenAsked, StopsWhatIsLate,
///         NumbersComeAgain
template <class Question, class Answer, Lanes L, class Answerer>
RUBATO_DETAIL_SHARED void serve(mailbox<Question, Answer>& box, const L& lanes, Question& question, Answer& answer,
                                std::uint32_t& stops, Answerer&& answerer, std::uint32_t first = 1) noexcept {
  if (lanes.index() == 0) stops = 0;
  lanes.sync();
  // Who is quicker fetches the next question while others still send: the answerer is through with this one, and none
  // comes to the next answer before all have fetched.
  for (std::uint32_t number = first; receive(box, number, lanes, question, stops);
       number = detail::number_after(number)) {
    const std::size_t words = answerer(question, answer);
    reply(box, number, lanes, answer, words);
  }
  reply(box, detail::stop_number, lanes, answer, 0);
}

/// The host's end of a mailbox: one question at a time, by one thread.
///
///     cuda::mailbox_client client{*box};
///     cuda::decision_record<64> record;
///     error e = client.ask({.worker = w, .now = now}, record, 0.01, [&] { return is_running(stream); });
///     ...
///     e = client.stop(1.0, alive);  // in any case: until the kernel ends, cudaFree and its like wait for it
///
/// `alive` is asked now and then while no answer comes; false says that the kernel is gone. After an answer that did
/// not come each further question is refused; stop() ends the kernel then too, once that has answered what it is at.
/// `first`: the number of the first question, as at serve().
/// Errors  io: no answer within `limit` seconds; the kernel is gone; an earlier answer did not come
/// Cost    spins. No allocation but in errors.
/// Tests   tests/cuda/mailbox_test.cpp: AnswersInTurn, GivesUpAtTheLimit, NoticesThatTheKernelIsGone, StopsWhenAsked,
///         StopsWhatIsLate, TakesTheLastWordOfAKernel, NumbersComeAgain
template <class Question, class Answer>
class mailbox_client {
 public:
  /// Of a box that outlives it. Nothing is sent before the first ask().
  explicit mailbox_client(mailbox<Question, Answer>& box, std::uint32_t first = 1) noexcept
      : box_{&box}, next_{first} {}

  /// Sends the question, and waits for its answer for at most `limit` seconds. Of `answer` what the kernel sends is
  /// written; after an error it may hold anything.
  template <class Alive>
  error ask(const Question& question, Answer& answer, double limit, Alive&& alive) {
    if (closed_) return {errc::io, "mailbox: closed, since it was stopped or an answer did not come"};
    const std::uint32_t number = std::exchange(next_, detail::number_after(next_));
    const auto* const payload = reinterpret_cast<const unsigned char*>(&question);
    for (std::size_t i = 0; i < box_type::question_words; ++i) {
      std::uint32_t value = 0;
      __builtin_memcpy(&value, payload + i * 4, 4);
      detail::store_word(box_->question + i, detail::word_of(number, value));
    }
    const wait until{number, limit};
    std::uint32_t words = 0;
    error e = fetch(0, words, until, alive);
    for (std::size_t i = 1; i <= words && e.code == errc::ok; ++i) {
      std::uint32_t value = 0;
      e = fetch(i, value, until, alive);
      __builtin_memcpy(reinterpret_cast<unsigned char*>(&answer) + (i - 1) * 4, &value, 4);
    }
    closed_ = e.code != errc::ok;
    return e;
  }
  /// Ends the kernel, and waits until it says so. Afterwards nothing can be asked. Where it says nothing in time the
  /// call may be repeated.
  template <class Alive>
  error stop(double limit, Alive&& alive) {
    closed_ = true;
    for (std::uint64_t& word : box_->question) detail::store_word(&word, detail::word_of(detail::stop_number, 0));
    std::uint32_t words = 0;
    return fetch(0, words, {detail::stop_number, limit}, alive);
  }

 private:
  using clock = std::chrono::steady_clock;
  using box_type = mailbox<Question, Answer>;

  struct wait {
    std::uint32_t number;
    double limit;
    clock::time_point end =
        clock::now() + std::chrono::duration_cast<clock::duration>(std::chrono::duration<double>{limit});
  };

  // Word i of an answer.
  template <class Alive>
  error fetch(std::size_t i, std::uint32_t& value, const wait& until, Alive& alive) {
    bool given_up = false, late = false;
    for (std::uint32_t spins = 1;; ++spins) {
      const std::uint64_t word = detail::load_word(box_->answer + i);
      value = static_cast<std::uint32_t>(word);
      if (static_cast<std::uint32_t>(word >> 32) == until.number) return {};
      if (given_up) break;
      if (spins % spins_between_looks != 0) continue;
      std::this_thread::yield();  // where threads outnumber the cores, the answer may wait for this one
      late = clock::now() > until.end;
      given_up = late || !alive();  // then one more look: a kernel that is gone may have answered before
    }
    const std::string what = until.number == detail::stop_number
                                 ? "mailbox: the stop was not acknowledged"
                                 : "mailbox: no answer to question " + std::to_string(until.number);
    if (late) return {errc::io, what + " within " + std::to_string(until.limit) + " s"};
    return {errc::io, what + ": the kernel is gone"};
  }

  // Some 25 us: looking at the clock takes longer than at the word, and asking for a stream much longer.
  static constexpr std::uint32_t spins_between_looks = 1U << 14;

  box_type* box_;
  std::uint32_t next_;
  bool closed_ = false;
};

/// The client of a box.
template <class Question, class Answer>
mailbox_client(mailbox<Question, Answer>&) -> mailbox_client<Question, Answer>;

}  // namespace rubato::inline RUBATO_ABI::cuda

#endif
