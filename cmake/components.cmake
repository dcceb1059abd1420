# The components of the package: each is a target rubato::NAME, which stands on parts, targets too, and finds packages.
# Read by the source tree (hosts.cmake) and, installed, by rubatoConfig.cmake.
set(_rubato_components cuda cuda_ps gloo mpi ps_lite threads_ps torch)

set(_rubato_parts_cuda_ps cuda)
set(_rubato_parts_gloo threads_ps gloo_ps_seam)
set(_rubato_parts_mpi threads_ps gloo_ps_seam)
set(_rubato_parts_torch threads_ps)

set(_rubato_packages_cuda CUDAToolkit)
set(_rubato_packages_cuda_ps Threads CUDAToolkit)
set(_rubato_packages_gloo Threads Gloo)
set(_rubato_packages_mpi Threads MPI)
set(_rubato_packages_threads_ps Threads)
set(_rubato_packages_torch Threads Torch)
set(_rubato_options_CUDAToolkit 12.8)  # a graph's SWITCH node
set(_rubato_options_MPI COMPONENTS CXX)

# _rubato_check_torch(PROBLEM): what is wrong with the libtorch that was found, if something is. A program has one
# std::string.
macro(_rubato_check_torch problem)
  if("${TORCH_CXX_FLAGS}" MATCHES "_GLIBCXX_USE_CXX11_ABI=0")
    set(${problem} "libtorch in ${TORCH_INSTALL_PREFIX} (flags: ${TORCH_CXX_FLAGS}) has the std::string of before \
C++11, with which GoogleTest, Gloo and other libraries do not link; take libtorch 2.7 or later, or the download that is \
called cxx11-abi")
  endif()
endmacro()

# _rubato_adapt_to_torch(TARGET): as C++20, clang's vector wants the whole IValue where libtorch 1.13 has but declared
# it; first of all, it is there. Not exported: which libtorch it is, is known where it was found.
macro(_rubato_adapt_to_torch target)
  if("${Torch_VERSION}" VERSION_LESS 2)
    target_compile_options(${target} INTERFACE
      "$<BUILD_INTERFACE:$<$<COMPILE_LANG_AND_ID:CXX,Clang>:SHELL:-include ATen/core/ivalue.h>>")
  endif()
endmacro()
