#include "dqn_update.hpp"
#include "network.hpp"

#ifdef RUBATO_BENCH_RLTOOLS
extern "C" char* openblas_get_corename();
#endif

namespace rubato::bench {

#ifdef RUBATO_BENCH_EIGEN
extern const network_library eigen;
#endif
#ifdef RUBATO_BENCH_RTNEURAL
extern const network_library rtneural;
#endif
#ifdef RUBATO_BENCH_RLTOOLS
extern const network_library rltools;
extern const update_library rltools_update;
#endif
#ifdef RUBATO_BENCH_TORCH
extern const network_library torch_eager, torch_script;
extern const update_library torch_update;
#endif

const std::vector<network_library>& network_libraries() {
  static const std::vector<network_library> all{
#ifdef RUBATO_BENCH_EIGEN
      eigen,
#endif
#ifdef RUBATO_BENCH_RTNEURAL
      rtneural,
#endif
#ifdef RUBATO_BENCH_RLTOOLS
      rltools,
#endif
#ifdef RUBATO_BENCH_TORCH
      torch_eager, torch_script,
#endif
  };
  return all;
}

const std::vector<update_library>& update_libraries() {
  static const std::vector<update_library> all{
#ifdef RUBATO_BENCH_RLTOOLS
      rltools_update,
#endif
#ifdef RUBATO_BENCH_TORCH
      torch_update,
#endif
  };
  return all;
}

const char* blas_kernels() {
#ifdef RUBATO_BENCH_RLTOOLS
  return openblas_get_corename();
#else
  return "none";
#endif
}

const char* missing_libraries() {
  return ""
#ifndef RUBATO_BENCH_EIGEN
         " eigen"
#endif
#ifndef RUBATO_BENCH_RTNEURAL
         " rtneural"
#endif
#ifndef RUBATO_BENCH_RLTOOLS
         " rltools"
#endif
#ifndef RUBATO_BENCH_TORCH
         " torch torch_script"
#endif
      ;
}

}  // namespace rubato::bench
