# The hosts in integrations/ as targets, made from the table of components: by a host's own folder where its engine is
# here; by install.cmake where it is not, since who uses a component has the engine.
include("${CMAKE_CURRENT_LIST_DIR}/components.cmake")

# Folders; all others are called like their components.
foreach(part IN LISTS _rubato_components)
  set(RUBATO_FOLDER_${part} ${part})
endforeach()
set(RUBATO_FOLDER_gloo gloo_ps)
set(RUBATO_FOLDER_gloo_ps_seam gloo_ps)
set(RUBATO_FOLDER_mpi mpi_ps)
set(RUBATO_FOLDER_torch libtorch)

# What a package gives to link with. (CUDAToolkit: see rubato::cuda.)
set(RUBATO_TARGET_Gloo gloo)
set(RUBATO_TARGET_MPI MPI::MPI_CXX)
set(RUBATO_TARGET_Threads Threads::Threads)
set(RUBATO_TARGET_Torch torch)

# rubato_part(NAME): target rubato_NAME, with its headers and what it links.
function(rubato_part part)
  set(include "${PROJECT_SOURCE_DIR}/integrations/${RUBATO_FOLDER_${part}}/include")
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS "${include}/*.hpp" "${include}/*.cuh")
  set(of_gloo "/(gloo_alarm|gloo_link|rendezvous|stores)\\.hpp$")
  if(part STREQUAL "gloo")
    list(FILTER headers INCLUDE REGEX "${of_gloo}")
  elseif(part STREQUAL "gloo_ps_seam")  # what of it needs no Gloo, for another engine in its place
    list(FILTER headers EXCLUDE REGEX "${of_gloo}")
    set(_rubato_parts_gloo_ps_seam threads_ps)
  endif()
  add_library(rubato_${part} INTERFACE)
  target_sources(rubato_${part} INTERFACE FILE_SET HEADERS BASE_DIRS "${include}" FILES ${headers})
  target_link_libraries(rubato_${part} INTERFACE rubato)
  foreach(other IN LISTS _rubato_parts_${part})
    target_link_libraries(rubato_${part} INTERFACE rubato_${other})
  endforeach()
  foreach(package IN LISTS _rubato_packages_${part})
    target_link_libraries(rubato_${part} INTERFACE ${RUBATO_TARGET_${package}})
  endforeach()
  if(part STREQUAL "mpi")  # the C++ bindings of long ago, which mpi.h includes otherwise
    target_compile_definitions(rubato_mpi INTERFACE OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
  endif()
endfunction()

# rubato_host(NAME): rubato_part, and its public name.
function(rubato_host part)
  rubato_part(${part})
  add_library(rubato::${part} ALIAS rubato_${part})
endfunction()
