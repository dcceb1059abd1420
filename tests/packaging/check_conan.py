#!/usr/bin/env python3
"""Runs the Conan recipe's own methods on a stand-in for the client: this checks the recipe's logic, not the client. The real
`conan create` follows, with g++ and with clang, where the client is on PATH or can be had from PyPI; else the last line
says that it was left out."""
import fnmatch
import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import types

from common import ROOT, conan_client, equal, files_below, header_version, library_headers, run

RECIPE = ROOT / "packaging" / "conan"


def install_stand_in(required_standards):
    """Puts a `conan` package into sys.modules: real file operations, recorded checks."""
    def copy(_, pattern, src, dst):
        for name in files_below(src):
            if fnmatch.fnmatch(name, pattern):
                target = pathlib.Path(dst, name)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(pathlib.Path(src, name), target)

    def module(name, **members):
        sys.modules[name] = types.ModuleType(name)
        vars(sys.modules[name]).update(members)

    module("conan", ConanFile=type("ConanFile", (), {}))
    module("conan.tools")
    module("conan.tools.build", check_min_cppstd=lambda _, standard: required_standards.append(standard))
    module("conan.tools.files", copy=copy, load=lambda _, path: pathlib.Path(path).read_text(encoding="utf-8"))
    module("conan.tools.layout", basic_layout=lambda _: None)


def check_recipe(folder):
    standards, cleared, properties = [], [], {}
    install_stand_in(standards)
    spec = importlib.util.spec_from_file_location("recipe", RECIPE / "conanfile.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    recipe = module.RubatoConan()
    recipe.recipe_folder = str(RECIPE)
    recipe.export_sources_folder = recipe.source_folder = os.path.join(folder, "source")
    recipe.package_folder = os.path.join(folder, "package")
    recipe.info = types.SimpleNamespace(clear=lambda: cleared.append(True))
    recipe.cpp_info = types.SimpleNamespace(set_property=properties.__setitem__, bindirs=["bin"], libdirs=["lib"])

    for step in ("set_version", "export_sources", "layout", "validate", "package_id", "package", "package_info"):
        getattr(recipe, step)()

    equal("version", recipe.version, header_version())
    equal("package type", recipe.package_type, "header-library")
    equal("settings", recipe.settings, ("os", "arch", "compiler", "build_type"))
    equal("required C++ standard", standards, [20])
    equal("package_id clears the settings", cleared, [True])
    equal("files", files_below(recipe.package_folder),
          {f"include/{header}" for header in library_headers()} | {"licenses/LICENSE"})
    equal("properties", properties, {"cmake_file_name": "rubato", "cmake_target_name": "rubato::rubato",
                                     "pkg_config_name": "rubato"})
    equal("bindirs and libdirs", (recipe.cpp_info.bindirs, recipe.cpp_info.libdirs), ([], []))


def create_for_real(client, folder):
    """`conan create` in a cache of its own and on a copy of the tree: it builds test_package in place."""
    os.environ["CONAN_HOME"] = os.path.join(folder, "conan")
    for name in ("include", "packaging"):
        shutil.copytree(ROOT / name, pathlib.Path(folder, "tree", name))
    shutil.copy(ROOT / "LICENSE", pathlib.Path(folder, "tree"))
    for compiler in ("g++", "clang++"):
        if not shutil.which(compiler):
            continue
        os.environ["CXX"] = compiler
        os.environ["CC"] = compiler.replace("++", "cc" if compiler == "g++" else "")
        run(client, "profile", "detect", "--name", compiler)
        create = [client, "create", f"{folder}/tree/packaging/conan", "--no-remote", "--profile:all", compiler]
        run(*create, "-s", "compiler.cppstd=20")
        refused = subprocess.run([*create, "-s", "compiler.cppstd=17"], capture_output=True, text=True, check=False)
        assert refused.returncode != 0 and "17" in refused.stderr, f"C++17 was accepted:\n{refused.stderr}"


def main():
    sys.dont_write_bytecode = True
    with tempfile.TemporaryDirectory() as folder:
        check_recipe(folder)
        client = conan_client()
        if client:
            create_for_real(client, folder)
            print("recipe logic and `conan create`: good")
        else:
            print("recipe logic: good; `conan create` left out, the client of Conan cannot be had")


if __name__ == "__main__":
    main()
