// The kernels of tests, lab and hosts, compiled once for all (development.cmake).
#include <rubato/nn/kernels/instances.hpp>
