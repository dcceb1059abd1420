#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iterator>
#include <string>
#include <type_traits>

#include "measure.cuh"
#include "sections.hpp"

// What rubato::cuda does on a card, beside what the card can do and what other libraries do in the same run.
// usage: bench_cuda [SECTION...]     all sections if none is named
// Exit status: 0, or 1 if a bar is missed or was not measured, or a section failed; 77 if there is no device.
namespace rubato::bench {
namespace {

constexpr struct {
  const char* name;
  void (*run)(table& to, const card& on);
} sections[] = {
    {"forward", forward},
    {"learner", learner},
    {"decision", decision},
    {"simulator", simulator},
    {"parameter_server", parameter_server},
};

// 3.52e9 as "3.52 G".
std::string with_prefix(double x) {
  constexpr struct {
    double scale;
    const char* name;
  } prefixes[] = {{1e12, " T"}, {1e9, " G"}, {1e6, " M"}, {1e3, " k"}, {1, " "}, {1e-3, " m"}, {1e-6, " µ"}};
  const auto* at = std::begin(prefixes);
  while (at + 1 != std::end(prefixes) && x < at->scale) ++at;
  char text[64];
  std::snprintf(text, sizeof text, "%.3g%s", x / at->scale, at->name);
  return text;
}

std::string text_of(const bound& bar, const std::string& number) {
  return (bar.which == bound::side::at_least ? "≥ " : "≤ ") + number;
}

std::string short_number(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", x);
  return text;
}

// The version of the kernel's module, which the runtime does not tell.
std::string driver() {
  std::ifstream file{"/proc/driver/nvidia/version"};
  for (std::string word; file >> word;)
    if (word.find('.') != std::string::npos && word.find_first_not_of("0123456789.") == std::string::npos) return word;
  return "unknown";
}

constexpr int no_device = 77;

using section = std::remove_reference_t<decltype(sections[0])>;

// One section, in a process of its own: a check that fails, or a kernel, ends that one alone. Returns what is to be the
// exit status.
int run_here(const section& what, bool is_first) {
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);  // before the first call: so many streams may wait at once,
  setenv("CUDA_MODULE_LOADING", "EAGER", 0);       // and no kernel is loaded while they do
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::fprintf(stderr, "bench_cuda: no CUDA device here, nothing is measured\n");
    return no_device;
  }
  card on;
  cudaDeviceProp properties{};
  int runtime = 0;
  need(cudaGetDeviceProperties(&properties, 0), "the device");
  need(cudaRuntimeGetVersion(&runtime), "the runtime");
  need(cudaStreamCreateWithFlags(&on.stream, cudaStreamNonBlocking), "a stream");
  on.name = properties.name;
  on.processors = properties.multiProcessorCount;
  measure_floors(on);

  const std::string floors =
      with_prefix(on.multiply_adds) + "multiply-adds/s in fp32, " + with_prefix(on.bytes) + "B/s copied";
  if (is_first) {
    char date[32];
    const std::time_t now = std::time(nullptr);
    std::strftime(date, sizeof date, "%Y-%m-%d", std::gmtime(&now));
    std::printf("%s, %s, %d SMs, compute capability %d.%d, driver %s, runtime %d.%d\n\n", date, on.name.c_str(),
                on.processors, properties.major, properties.minor, driver().c_str(), runtime / 1000,
                runtime % 1000 / 10);
    std::printf("| figure | measured | floor | ratio | bar | met |\n| --- | --- | --- | --- | --- | --- |\n");
  }
  table to;
  to.section("Floors of " + std::string{what.name} + ": " + floors);
  what.run(to, on);
  need(cudaStreamDestroy(on.stream), "a stream");
  return to.short_of_bars() == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

// The parent makes no call of CUDA, which no child would survive.
int run(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    bool known = false;
    for (const section& each : sections) known = known || std::strcmp(argv[i], each.name) == 0;
    if (!known) {
      std::fprintf(stderr, "bench_cuda: no section %s; expected", argv[i]);
      for (const section& each : sections) std::fprintf(stderr, " %s", each.name);
      std::fprintf(stderr, "\n");
      return EXIT_FAILURE;
    }
  }
  int worst = EXIT_SUCCESS;
  bool is_first = true;
  for (const section& each : sections) {
    bool wanted = argc == 1;
    for (int i = 1; i < argc; ++i) wanted = wanted || std::strcmp(argv[i], each.name) == 0;
    if (!wanted) continue;
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) std::exit(run_here(each, is_first));
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child) {
      std::perror("bench_cuda: a process for a section");
      return EXIT_FAILURE;
    }
    is_first = false;
    if (WIFEXITED(status) && WEXITSTATUS(status) == no_device) return no_device;
    if (WIFSIGNALED(status)) std::fprintf(stderr, "bench_cuda: %s: signal %d\n", each.name, WTERMSIG(status));
    if (status != 0) worst = EXIT_FAILURE;
  }
  return worst;
}

}  // namespace

void table::section(const std::string& title) { std::printf("| **%s** | | | | | |\n", title.c_str()); }

void table::add(const line& what) {
  const double ratio = what.floor > 0 ? what.measured / what.floor : 0;
  std::string bar;
  bool met = true;
  if (what.of_ratio) {
    bar = "ratio " + text_of(*what.of_ratio, short_number(what.of_ratio->value));
    met = met && what.floor > 0 && what.of_ratio->met(ratio);
  }
  if (what.of_measured) {
    bar += (bar.empty() ? "" : ", ") + text_of(*what.of_measured, with_prefix(what.of_measured->value) + what.unit);
    met = met && what.of_measured->met(what.measured);
  }
  if (!met) ++short_;
  std::printf("| %s | %s%s | %s | %s | %s | %s |\n", what.figure.c_str(), with_prefix(what.measured).c_str(),
              what.unit.c_str(), what.floor > 0 ? (with_prefix(what.floor) + what.unit).c_str() : "",
              what.floor > 0 ? short_number(ratio).c_str() : "", bar.c_str(),
              bar.empty() ? ""
              : met       ? "met"
                          : "FALLS SHORT");
  std::fflush(stdout);
}

void table::missing(const std::string& figure, const std::string& why, const std::string& bar) {
  if (!bar.empty()) ++short_;
  std::printf("| %s | %s | | | %s | %s |\n", figure.c_str(), why.c_str(), bar.c_str(),
              bar.empty() ? "" : "NOT MEASURED");
}

}  // namespace rubato::bench

int main(int argc, char** argv) { return rubato::bench::run(argc, argv); }
