# bench_peers: other libraries that compute the same, each in one object with the flags with which it is fastest. One
# that is not there is left out, and the rows of the benchmarks say so.
set(RUBATO_BENCH_PEERS "" CACHE PATH "Directory with sources of RTNeural and rl-tools, to compare with")
include(CheckCXXCompilerFlag)
check_cxx_compiler_flag(-march=native RUBATO_KNOWS_MARCH_NATIVE)

add_library(bench_peers STATIC EXCLUDE_FROM_ALL peers/peers.cpp)

# rubato_peer(eigen RUBATO_BENCH_EIGEN [library...]): peers/eigen.cpp. No flag goes to the linker: one of -ffast-math
# would have the whole program flush denormals.
function(rubato_peer name definition)
  add_library(bench_peer_${name} OBJECT EXCLUDE_FROM_ALL peers/${name}.cpp)
  target_compile_features(bench_peer_${name} PRIVATE cxx_std_20)
  target_compile_options(bench_peer_${name} PRIVATE -Ofast $<$<BOOL:${RUBATO_KNOWS_MARCH_NATIVE}>:-march=native> -w)
  target_link_libraries(bench_peer_${name} PRIVATE ${ARGN})
  set_target_properties(bench_peer_${name} PROPERTIES UNITY_BUILD OFF)
  target_sources(bench_peers PRIVATE $<TARGET_OBJECTS:bench_peer_${name}>)
  target_compile_definitions(bench_peers PRIVATE ${definition})
  target_link_libraries(bench_peers PRIVATE ${ARGN})
endfunction()

find_package(Eigen3 3.4 QUIET NO_MODULE)
if(TARGET Eigen3::Eigen)
  rubato_peer(eigen RUBATO_BENCH_EIGEN Eigen3::Eigen)
endif()

find_package(Torch QUIET)
if(TORCH_FOUND)
  rubato_peer(torch RUBATO_BENCH_TORCH ${TORCH_LIBRARIES})
  target_include_directories(bench_peer_torch SYSTEM PRIVATE ${TORCH_INCLUDE_DIRS})
endif()

if(EXISTS "${RUBATO_BENCH_PEERS}/RTNeural/RTNeural/RTNeural.h")
  rubato_peer(rtneural RUBATO_BENCH_RTNEURAL)
  target_include_directories(bench_peer_rtneural SYSTEM PRIVATE "${RUBATO_BENCH_PEERS}/RTNeural"
                             "${RUBATO_BENCH_PEERS}/RTNeural/modules/json"
                             "${RUBATO_BENCH_PEERS}/RTNeural/modules/xsimd/include")
endif()

find_library(RUBATO_OPENBLAS openblas)
if(RUBATO_OPENBLAS AND EXISTS "${RUBATO_BENCH_PEERS}/rl-tools/include/rl_tools/rl_tools.h")
  rubato_peer(rltools RUBATO_BENCH_RLTOOLS "${RUBATO_OPENBLAS}")
  target_include_directories(bench_peer_rltools SYSTEM PRIVATE "${RUBATO_BENCH_PEERS}/rl-tools/include")
  target_compile_definitions(bench_peer_rltools PRIVATE RL_TOOLS_BACKEND_ENABLE_OPENBLAS)
endif()
