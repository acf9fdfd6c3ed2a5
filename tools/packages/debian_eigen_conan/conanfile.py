# SPDX-License-Identifier: Apache-2.0
"""Debian's Eigen as a Conan package: the recipe of tacit is tested without a server."""
from conan import ConanFile


class Eigen(ConanFile):
    name = "eigen"
    version = "3.4.0"
    package_type = "header-library"

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "Eigen3")
        self.cpp_info.set_property("cmake_target_name", "Eigen3::Eigen")
        self.cpp_info.includedirs = ["/usr/include/eigen3"]
        self.cpp_info.bindirs = []
        self.cpp_info.libdirs = []
