from conan import ConanFile
from conan.tools.cmake import CMake, cmake_layout


class Decide(ConanFile):
    settings = "os", "arch", "compiler", "build_type"
    requires = "rubato/0.1.0"
    generators = "CMakeDeps", "CMakeToolchain"

    def layout(self):
        cmake_layout(self)

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()
