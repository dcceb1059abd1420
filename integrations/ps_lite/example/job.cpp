// A job of ps-lite, scheduler, servers and workers in one program, with the server of before.hpp or of after.hpp
// (-DSERVER_HEADER=...): worker 0 is slow, and everybody writes down when it starts a step and when it pushes. For
// against_ps_lite.sh.
#include <ps/ps.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include SERVER_HEADER

namespace {

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

void work(const std::string& folder) {
  constexpr int steps = 60;
  ps::KVWorker<float> kv{0, 0};
  const std::vector<ps::Key> keys{
      1, std::numeric_limits<ps::Key>::max() / 2 + 1};  // the first and the second half of the keys
  const std::vector<float> gradient{1, 2};
  std::vector<float> values;
  const int rank = ps::MyRank();
  std::FILE* log = std::fopen((folder + "/" + std::to_string(rank)).c_str(), "w");
  if (log == nullptr) std::abort();
  for (int step = 0; step < steps; ++step) {
    std::fprintf(log, "start %d %.6f\n", step, seconds());
    if (rank == 0) std::this_thread::sleep_for(std::chrono::milliseconds{15});
    std::fprintf(log, "push %d %.6f\n", step, seconds());
    kv.Wait(kv.Push(keys, gradient, {}, train));
    kv.Wait(kv.Pull(keys, &values));
  }
  std::fclose(log);
  kv.Wait(kv.Push(keys, gradient, {}, finished));
  ps::Postoffice::Get()->Barrier(0, ps::kWorkerGroup);
  kv.Wait(kv.Pull(keys, &values));
  const float expected = -0.125F * steps * static_cast<float>(ps::NumWorkers());
  std::printf("worker %d: %s\n", rank, values[0] == expected && values[1] == 2 * expected ? "exact" : "WRONG");
}

}  // namespace

int main(int, char** arguments) {
  const char* role = std::getenv("DMLC_ROLE");
  if (role == std::string_view{"server"}) {  // before Start(), since workers may be quicker out of it
    auto* server = new ps::KVServer<float>{0};
#ifdef WORKERS_ARE_COUNTED
    auto* job = new training_server{*server, static_cast<std::uint32_t>(std::atoi(std::getenv("DMLC_NUM_WORKER")))};
#else
    auto* job = new training_server{*server};
#endif
    ps::RegisterExitCallback([server, job] { delete server, delete job; });
  }
  ps::Start(0);
  if (role == std::string_view{"worker"}) work(arguments[1]);
  ps::Finalize(0, true);
}
