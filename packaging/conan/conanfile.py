import os
import re

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.files import copy, load
from conan.tools.layout import basic_layout

required_conan_version = ">=2.0"


class RubatoConan(ConanFile):
    name = "rubato"
    description = "Who may run next: synchronisation policies for parameter servers and distributed trainers"
    license = "Apache-2.0"
    topics = ("parameter-server", "distributed-training", "stale-synchronous-parallel", "stragglers", "header-only")
    package_type = "header-library"
    settings = "os", "arch", "compiler", "build_type"
    no_copy_source = True

    @property
    def _root(self):
        return os.path.join(self.recipe_folder, "..", "..")

    def set_version(self):
        header = load(self, os.path.join(self._root, "include", "rubato", "version.hpp"))
        self.version = ".".join(re.findall(r"^#define RUBATO_VERSION_\w+ (\d+)$", header, re.MULTILINE))

    def export_sources(self):
        copy(self, "LICENSE", src=self._root, dst=self.export_sources_folder)
        copy(self, "include/*", src=self._root, dst=self.export_sources_folder)

    def layout(self):
        basic_layout(self)

    def package_id(self):
        self.info.clear()

    def validate(self):
        check_min_cppstd(self, 20)

    def package(self):
        copy(self, "LICENSE", src=self.source_folder, dst=os.path.join(self.package_folder, "licenses"))
        copy(self, "*", src=os.path.join(self.source_folder, "include"),
             dst=os.path.join(self.package_folder, "include"))

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "rubato")
        self.cpp_info.set_property("cmake_target_name", "rubato::rubato")
        self.cpp_info.set_property("pkg_config_name", "rubato")
        self.cpp_info.bindirs = []
        self.cpp_info.libdirs = []
