#include <cstdio>
#include <rubato/mpi_ps/mpi_process.hpp>

int main(int argc, char** argv) {
  const auto rank = rubato::mpi_ps::mpi_process::start(argc, argv);
  std::printf("mpi: %d\n", rank ? (*rank)->rank() : 1);
}
