#!/usr/bin/env python3
"""Name, version and licence are the same wherever a package manager reads them."""
import json
import re

from common import ROOT, equal, header_version


def only(path, pattern):
    """The one match of `pattern` in a file."""
    found = re.findall(pattern, (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE)
    assert len(found) == 1, f"{path}: expected one match of '{pattern}', found {found}"
    return found[0]


def main():
    version = header_version()
    port = json.loads((ROOT / "packaging/vcpkg/rubato/vcpkg.json").read_text(encoding="utf-8"))
    equal("vcpkg.json: version", port["version"], version)
    equal("vcpkg.json: name", port["name"], "rubato")
    equal("vcpkg.json: license", port["license"], "Apache-2.0")
    unknown = set(port) - {"name", "version", "description", "license", "supports", "dependencies", "features"}
    assert not unknown, f"vcpkg.json: unexpected keys {unknown}"
    equal("vcpkg.json: supports, as the README's limits have it", port["supports"], "linux")
    components = set(re.findall(r"^rubato_install_(?:host|part)\((\w+) ",
                                (ROOT / "cmake/install.cmake").read_text(encoding="utf-8"), re.MULTILINE))
    lacking = set(port["features"]) - components
    assert not lacking, f"vcpkg.json: features {lacking} are no components of the installed package"
    for dependency in port["dependencies"]:
        assert dependency["host"], f"vcpkg.json: {dependency['name']} would reach the consumer"

    equal("CMakeLists.txt: project", only("CMakeLists.txt", r"^project\((\w+)"), "rubato")
    equal("library.cmake: alias", only("cmake/library.cmake", r"^add_library\((\S+) ALIAS rubato\)"), "rubato::rubato")
    for export in ("rubatoTargets", r"rubato_\$\{part\}"):
        namespace = only("cmake/install.cmake", rf"EXPORT {export} NAMESPACE (\S+)")
        equal(f"install.cmake: namespace of {export}", namespace, "rubato::")
    equal("rubato.pc: name", only("cmake/rubato.pc.in", r"^Name: (.*)$"), "rubato")

    recipe = "packaging/conan/conanfile.py"
    equal("conanfile.py: name", only(recipe, r'^    name = "(.*)"$'), "rubato")
    equal("conanfile.py: license", only(recipe, r'^    license = "(.*)"$'), "Apache-2.0")
    equal("conanfile.py: target", only(recipe, r'"cmake_target_name", "(.*)"'), "rubato::rubato")
    equal("conanfile.py: package", only(recipe, r'"cmake_file_name", "(.*)"'), "rubato")
    equal("conanfile.py: .pc", only(recipe, r'"pkg_config_name", "(.*)"'), "rubato")
    assert version not in (ROOT / recipe).read_text(encoding="utf-8"), "conanfile.py: the version is written in it"
    assert version not in (ROOT / "CMakeLists.txt").read_text(encoding="utf-8"), "CMakeLists.txt: so is the version"

    usage = "packaging/vcpkg/rubato/usage"
    equal("usage: target", only(usage, r"PRIVATE (rubato::rubato)\)"), "rubato::rubato")
    equal("usage: package", only(usage, r"find_package\((\w+) CONFIG REQUIRED\)"), "rubato")
    changelog = ROOT / "CHANGELOG.md"
    assert f"## {version}" in changelog.read_text(encoding="utf-8"), f"CHANGELOG.md: no entry '## {version}'"


if __name__ == "__main__":
    main()
