#!/usr/bin/env python3
"""Configures the project with a libtorch whose flags do not go with the rest of a program: it says so, and goes on
without integrations/libtorch."""
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]


def configured_with(flags):
    """What CMake says, in one line, where torch demands these flags."""
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "TorchConfig.cmake").write_text(
            "add_library(torch INTERFACE IMPORTED)\n"
            f'set(TORCH_INSTALL_PREFIX "/opt/libtorch")\nset(TORCH_CXX_FLAGS "{flags}")\nset(Torch_FOUND TRUE)\n',
            encoding="utf-8",
        )
        done = subprocess.run(
            ["cmake", "-S", ROOT, "-B", f"{folder}/build", f"-DTorch_DIR={folder}", "-DRUBATO_BUILD_INTEGRATIONS=ON",
             "-DCMAKE_DISABLE_FIND_PACKAGE_Gloo=ON", "-DCMAKE_DISABLE_FIND_PACKAGE_MPI=ON"],
            capture_output=True, text=True, check=False,
        )
        said = " ".join((done.stdout + done.stderr).split())
        return done.returncode, said


class Abi(unittest.TestCase):
    def test_old_strings_are_told(self):
        status, said = configured_with("-D_GLIBCXX_USE_CXX11_ABI=0")
        self.assertEqual(status, 0)
        self.assertTrue("libtorch in /opt/libtorch (flags: -D_GLIBCXX_USE_CXX11_ABI=0) has the std::string of before "
                        "C++11" in said, said)

    def test_what_goes_together_is_taken(self):
        status, said = configured_with("-D_GLIBCXX_USE_CXX11_ABI=1")
        self.assertEqual(status, 0)
        self.assertFalse("libtorch in" in said, said)


if __name__ == "__main__":
    unittest.main()
