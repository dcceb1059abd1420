# rubato::cuda, also as component `cuda` of the installed package: the headers under include/rubato/cuda. Their bodies
# are for every compiler; what starts kernels is for nvcc.
option(RUBATO_CUDA "Build the tests, hosts and benchmarks that need nvcc, where it is installed" ${RUBATO_DEVELOPER_MODE})

file(GLOB RUBATO_CUDA_HEADERS CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/include/rubato/cuda/*.cuh")
add_library(rubato_cuda INTERFACE)
add_library(rubato::cuda ALIAS rubato_cuda)
target_sources(rubato_cuda INTERFACE FILE_SET HEADERS BASE_DIRS "${PROJECT_SOURCE_DIR}/include" FILES
               ${RUBATO_CUDA_HEADERS})
# Quoted conditions: who has CUDAToolkit's targets gets the runtime's, who compiles bodies alone needs none.
target_link_libraries(rubato_cuda INTERFACE rubato $<TARGET_NAME_IF_EXISTS:CUDA::cudart_static>)
# nvcc is no compiler that CMake could verify a header set with; tests/cuda/device does it.
set_target_properties(rubato_cuda PROPERTIES VERIFY_INTERFACE_HEADER_SETS OFF)
if(NOT PROJECT_IS_TOP_LEVEL)
  set_target_properties(rubato_cuda PROPERTIES SYSTEM ON)
endif()

# RUBATO_HAS_NVCC: nvcc is there, and language CUDA is on. A graph's SWITCH node needs 12.8.
set(RUBATO_HAS_NVCC OFF)
set(RUBATO_NO_NVCC "RUBATO_CUDA is off")
if(RUBATO_CUDA)
  set(RUBATO_NO_NVCC "no CUDA toolkit 12.8 or later")
  find_package(CUDAToolkit 12.8 QUIET)
  if(NOT CUDAToolkit_FOUND OR NOT CUDAToolkit_NVCC_EXECUTABLE)
    message(STATUS "rubato: ${RUBATO_NO_NVCC}, what needs nvcc is left out")
  else()
    if(NOT CMAKE_CUDA_COMPILER)
      set(CMAKE_CUDA_COMPILER "${CUDAToolkit_NVCC_EXECUTABLE}")
    endif()
    if(NOT CMAKE_CUDA_ARCHITECTURES)
      set(CMAKE_CUDA_ARCHITECTURES 75-real 80-real 90)
    endif()
    enable_language(CUDA)
    if(NOT DEFINED CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25.1 does not know it of any nvcc
      set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
      set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
    endif()
    set(CMAKE_CUDA_STANDARD 20)
    set(RUBATO_HAS_NVCC ON)
  endif()
endif()
