#ifndef RUBATO_BENCH_CUDA_SECTIONS_HPP
#define RUBATO_BENCH_CUDA_SECTIONS_HPP

#include <cuda_runtime_api.h>

#include <optional>
#include <string>

namespace rubato::bench {

/// What a line is held to: at least, or at most.
struct bound {
  enum class side { at_least, at_most };
  side which;
  double value;
  [[nodiscard]] bool met(double x) const noexcept { return which == side::at_least ? x >= value : x <= value; }
};
inline bound at_least(double value) { return {bound::side::at_least, value}; }
inline bound at_most(double value) { return {bound::side::at_most, value}; }

/// A line of the table. The ratio is measured over floor.
struct line {
  std::string figure;
  double measured = 0;
  std::string unit;  ///< printed after a prefix: 3.5 G queries/s
  double floor = 0;  ///< what the card can do at most, same unit; 0: there is none
  std::optional<bound> of_measured{}, of_ratio{};
};

/// Prints a table in Markdown, line by line, and counts what it is told.
class table {
 public:
  void section(const std::string& title);
  void add(const line& what);
  /// A bar that could not be asked, and why.
  void missing(const std::string& figure, const std::string& why, const std::string& bar);
  [[nodiscard]] int short_of_bars() const noexcept { return short_; }

 private:
  int short_ = 0;
};

/// What the card can do, measured in this run, and a stream to work on.
struct card {
  std::string name;
  int processors = 0;
  double multiply_adds = 0;  ///< fp32, a second
  double bytes = 0;          ///< read and written, a second
  cudaStream_t stream = nullptr;
};
void measure_floors(card& what);

// One function a section, one file each; bench_cuda.cu lists them.
void forward(table& to, const card& on);
void learner(table& to, const card& on);
void decision(table& to, const card& on);
void simulator(table& to, const card& on);
void parameter_server(table& to, const card& on);

}  // namespace rubato::bench

#endif
