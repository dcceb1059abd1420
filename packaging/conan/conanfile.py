import os
import re

from conan import ConanFile
from conan.errors import ConanException, ConanInvalidConfiguration
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, cmake_layout
from conan.tools.files import copy, load
from conan.tools.scm import Version

required_conan_version = ">=2.0"


class RubatoConan(ConanFile):
    """What CMake installs: the library, and the hosts as components of its CMake package."""
    name = "rubato"
    description = "Who may run next: synchronisation policies for parameter servers and distributed trainers"
    license = "Apache-2.0"
    topics = ("parameter-server", "distributed-training", "stale-synchronous-parallel", "stragglers", "header-only")
    package_type = "header-library"
    settings = "os", "arch", "compiler", "build_type"
    generators = "CMakeToolchain"
    no_copy_source = True
    oldest_compilers = {"gcc": "12", "clang": "14"}

    @property
    def _root(self):
        return os.path.join(self.recipe_folder, "..", "..")

    def set_version(self):
        header = load(self, os.path.join(self._root, "include", "rubato", "version.hpp"))
        parts = [re.findall(rf"^#define RUBATO_VERSION_{part} (\d+)$", header, re.MULTILINE)
                 for part in ("MAJOR", "MINOR", "PATCH")]
        if any(len(part) != 1 for part in parts):
            raise ConanException("include/rubato/version.hpp: expected RUBATO_VERSION_MAJOR, _MINOR and _PATCH, once each")
        self.version = ".".join(part[0] for part in parts)

    def export_sources(self):
        for pattern in ("CMakeLists.txt", "LICENSE", "cmake/*", "include/*", "integrations/*/include/*"):
            copy(self, pattern, src=self._root, dst=self.export_sources_folder)

    def layout(self):
        cmake_layout(self)

    def package_id(self):
        self.info.clear()

    def validate(self):
        check_min_cppstd(self, 20)
        if self.settings.os != "Linux":
            raise ConanInvalidConfiguration(f"rubato is for Linux, not for {self.settings.os}")
        oldest = self.oldest_compilers.get(str(self.settings.compiler))
        if oldest and Version(self.settings.compiler.version) < oldest:
            raise ConanInvalidConfiguration(f"rubato needs {self.settings.compiler} {oldest} or later, "
                                            f"found {self.settings.compiler.version}")

    def build(self):
        CMake(self).configure()

    def package(self):
        CMake(self).install()
        copy(self, "LICENSE", src=self.source_folder, dst=os.path.join(self.package_folder, "licenses"))

    def package_info(self):
        # rubatoConfig.cmake is the package's own: it knows the components, and which versions go together.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = [os.path.join("share", "cmake", "rubato")]
        self.cpp_info.bindirs = []
        self.cpp_info.libdirs = []
