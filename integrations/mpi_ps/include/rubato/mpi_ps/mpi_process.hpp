#ifndef RUBATO_MPI_PS_MPI_PROCESS_HPP
#define RUBATO_MPI_PS_MPI_PROCESS_HPP

#include <mpi.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <rubato/core/result.hpp>
#include <rubato/gloo_ps/transport.hpp>
#include <string>
#include <thread>
#include <utility>

namespace rubato::inline RUBATO_ABI::mpi_ps {

using gloo_ps::after;
using gloo_ps::bytes;
using gloo_ps::longest_time;
using gloo_ps::steady;
using gloo_ps::transfer;

/// The pauses of somebody who looks again and again: none at first, then longer and longer, up to half a millisecond.
/// MPI has no wait with a time limit.
class patience {
 public:
  /// Sleeps, not beyond the deadline; false if that is over.
  [[nodiscard]] bool pause(steady::time_point deadline) {
    const steady::time_point now = steady::now();
    if (now >= deadline) return false;
    if (looks_ < 20) {
      ++looks_;
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_until((std::min)(deadline, now + span_));
      span_ = (std::min)(2 * span_, longest);
    }
    return true;
  }

 private:
  static constexpr std::chrono::microseconds longest{500};
  int looks_ = 0;
  std::chrono::microseconds span_{20};
};

/// MPI in this process: a communicator of our own, and a mutex for all calls, so that MPI_THREAD_SERIALIZED will do.
///
/// All calls are of the two-sided kind, and none blocks: MPI_Isend, MPI_Irecv, MPI_Iprobe, MPI_Test. Errors come back
/// as values; the communicator has MPI_ERRORS_RETURN.
///
/// Made     once in a process, before its links; outlives them. It calls MPI_Init_thread and MPI_Finalize, unless MPI
///          was initialised before: then both are the caller's.
/// Thread   any number; a program that calls MPI elsewhere too at the same time needs MPI_THREAD_MULTIPLE
/// Collective  start(), finish() and the destructor, over all ranks of MPI_COMM_WORLD
/// Tests    tests/integrations/mpi_ps/mpi_link_test.cpp
class mpi_process {
 public:
  /// Errors  io: MPI has no threads here, or what it says
  [[nodiscard]] static result<std::unique_ptr<mpi_process>> start(int& argc, char**& argv) {
    int running = 0, provided = 0;
    MPI_Initialized(&running);
    if (running == 0) {
      if (const int code = MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided); code != MPI_SUCCESS)
        return error{errc::io, "MPI_Init_thread: " + sentence(code)};
    } else {
      MPI_Query_thread(&provided);
    }
    std::unique_ptr<mpi_process> made{new mpi_process{running == 0}};
    if (provided < MPI_THREAD_SERIALIZED)
      return error{errc::io, "this MPI has no threads: expected MPI_THREAD_SERIALIZED at least"};
    if (const int code = MPI_Comm_dup(MPI_COMM_WORLD, &made->all_); code != MPI_SUCCESS)
      return error{errc::io, "MPI_Comm_dup: " + sentence(code)};
    MPI_Comm_set_errhandler(made->all_, MPI_ERRORS_RETURN);
    MPI_Comm_rank(made->all_, &made->rank_);
    MPI_Comm_size(made->all_, &made->size_);
    return made;
  }
  mpi_process(const mpi_process&) = delete;
  mpi_process& operator=(const mpi_process&) = delete;
  ~mpi_process() { end(); }

  /// Ends MPI, as the destructor does, but for this: MPI_Finalize waits for all ranks, and therefore for ever if one
  /// has died, or hangs. After `limit` seconds the process ends without it, with this status; else it is returned.
  /// mpirun takes a process that ends without MPI_Finalize for one that has failed, and ends the whole job, unless it
  /// was started with --enable-recovery: without that, leave the others time to finish (longest_time: all they need).
  int finish(int status, double limit) {
    std::mutex mutex;
    std::condition_variable news;
    bool over = false;
    std::thread timer{[&] {
      std::unique_lock lock{mutex};
      if (news.wait_until(lock, after(limit), [&] { return over; })) return;
      std::fflush(nullptr);
      std::_Exit(status);
    }};
    end();
    {
      const std::lock_guard lock{mutex};
      over = true;
      news.notify_one();
    }
    timer.join();
    return status;
  }

  [[nodiscard]] int rank() const noexcept { return rank_; }  ///< of this process, in MPI_COMM_WORLD
  [[nodiscard]] int size() const noexcept { return size_; }  ///< ranks of MPI_COMM_WORLD, this one among them
  /// Of a connection that this process makes: no two have the same.
  [[nodiscard]] std::uint32_t next_number() noexcept { return numbers_++; }

  /// Ends all ranks at once, with this status of this one.
  [[noreturn]] void abort(int status) {
    MPI_Abort(all_, status);
    std::_Exit(status);
  }

  /// The size of the longest message, 2 GiB: MPI counts in ints.
  static constexpr std::size_t longest_message = std::numeric_limits<int>::max();

  /// Hands a message over, unless is_over(), which throws nothing, says meanwhile that nobody will take it. What the
  /// peer does not take by the deadline stays with MPI, which cannot be asked back for it, and may still arrive.
  /// Status: done, timed_out, or closed, with MPI's reason or because it is over.
  template <class IsOver>
  transfer send(bytes content, int peer, int tag, steady::time_point deadline, IsOver&& is_over) {
    if (content.size() > longest_message) return {transfer::status::closed, "a message of more than 2 GiB"};
    return complete(
        [&](parcel& out) {
          return MPI_Isend(out.content.data(), static_cast<int>(out.content.size()), MPI_BYTE, peer, tag, all_,
                           &out.request);
        },
        content, deadline, is_over);
  }
  /// The same, and nothing but the deadline ends it.
  transfer send(bytes content, int peer, int tag, steady::time_point deadline) {
    return send(std::move(content), peer, tag, deadline, [] { return false; });
  }
  /// Receives a message of that size, which probe() has found; its memory is that of `into`, if that is enough. Status
  /// as above.
  transfer recv(bytes& into, std::size_t size, int peer, int tag, steady::time_point deadline) {
    into.resize(size);
    return complete(
        [&](parcel& in) {
          return MPI_Irecv(in.content.data(), static_cast<int>(size), MPI_BYTE, peer, tag, all_, &in.request);
        },
        into, deadline, [] { return false; });
  }

  /// A message that probe() has found, and recv() can take.
  struct arrival {
    int peer = 0;           ///< rank that sent it
    std::size_t size = 0;   ///< bytes
    std::string trouble{};  ///< MPI's reason why it could not look; empty if it could
  };
  /// The next message under this tag, of this peer or of any (MPI_ANY_SOURCE); nothing if none has begun to arrive.
  [[nodiscard]] std::optional<arrival> probe(int peer, int tag) {
    const std::lock_guard lock{mutex_};
    int found = 0, size = 0;
    MPI_Status status;
    if (std::string why = problem(MPI_Iprobe(peer, tag, all_, &found, &status)); !why.empty())
      return arrival{.trouble = std::move(why)};
    if (found == 0) return std::nullopt;
    MPI_Get_count(&status, MPI_BYTE, &size);
    return arrival{.peer = status.MPI_SOURCE, .size = static_cast<std::size_t>(size)};
  }
  /// Messages that were late, and that MPI has still to do with.
  [[nodiscard]] std::size_t in_flight() {
    const std::lock_guard lock{mutex_};
    sweep();
    return late_.size();
  }

 private:
  explicit mpi_process(bool ends_mpi) noexcept : ends_mpi_{ends_mpi} {}

  // Waits a second at most for what is still on its way to others. What is not taken even then is left to MPI, with its
  // memory. Once MPI has ended, nothing of it may be called.
  void end() {
    int ended = 0;
    MPI_Finalized(&ended);
    if (ended == 0 && all_ != MPI_COMM_NULL) {
      patience looks;
      while (in_flight() > 0 && looks.pause(last_word_)) continue;
    }
    if (!late_.empty()) static_cast<void>(new std::list<parcel>{std::move(late_)});
    if (ended != 0) return;
    if (all_ != MPI_COMM_NULL) MPI_Comm_free(&all_);
    if (std::exchange(ends_mpi_, false)) MPI_Finalize();
  }

  // A message that is on its way, and its bytes, which MPI reads or writes until the request is done.
  struct parcel {
    bytes content{};
    MPI_Request request = MPI_REQUEST_NULL;
  };

  template <class Begin, class IsOver>
  transfer complete(Begin&& begin, bytes& content, steady::time_point deadline, IsOver&& is_over) {
    std::list<parcel> one(1);
    parcel& what = one.front();
    what.content.swap(content);
    patience looks;
    for (bool begun = false;; begun = true) {
      {
        const std::lock_guard lock{mutex_};
        int done = 0;
        const int code = begun ? MPI_SUCCESS : begin(what);
        if (std::string why = problem(code == MPI_SUCCESS ? MPI_Test(&what.request, &done, MPI_STATUS_IGNORE) : code);
            !why.empty())
          return {transfer::status::closed, std::move(why)};
        if (done != 0) {
          content.swap(what.content);
          return {};
        }
      }
      const bool over = is_over();  // looks at MPI, under the mutex
      if (!over && looks.pause(deadline)) continue;
      const std::lock_guard lock{mutex_};
      late_.splice(late_.end(), one);
      last_word_ = after(1);
      sweep();
      if (over) return {transfer::status::closed, "the peer has ended the connection"};
      return {transfer::status::timed_out, "the peer did not take or send a message in time"};
    }
  }
  void sweep() {
    late_.remove_if([](parcel& each) {
      int done = 0;
      return MPI_Test(&each.request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS || done != 0;
    });
  }
  [[nodiscard]] static std::string problem(int code) { return code == MPI_SUCCESS ? std::string{} : sentence(code); }
  [[nodiscard]] static std::string sentence(int code) {
    std::array<char, MPI_MAX_ERROR_STRING> text{};
    int length = 0;
    MPI_Error_string(code, text.data(), &length);
    return {text.data(), static_cast<std::size_t>(length)};
  }

  bool ends_mpi_;
  MPI_Comm all_ = MPI_COMM_NULL;
  int rank_ = 0, size_ = 1;
  std::atomic<std::uint32_t> numbers_{0};
  std::mutex mutex_;
  std::list<parcel> late_;
  steady::time_point last_word_{};
};

}  // namespace rubato::inline RUBATO_ABI::mpi_ps

#endif
