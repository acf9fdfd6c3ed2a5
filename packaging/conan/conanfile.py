# SPDX-License-Identifier: Apache-2.0
"""Packages the tree that this recipe lies in: conan create packaging/conan --build=missing"""
import re
from pathlib import Path

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.files import copy, load
from conan.tools.layout import basic_layout


class Tacit(ConanFile):
    name = "tacit"
    license = "Apache-2.0"
    description = "Differential privacy accounting with certified bounds, PAC privacy and private training"
    topics = ("differential-privacy", "privacy-accounting", "pac-privacy", "dp-sgd", "header-only")
    package_type = "header-library"
    settings = "os", "arch", "compiler", "build_type"
    requires = "eigen/[>=3.4 <4]"
    no_copy_source = True

    @property
    def tree(self):
        return Path(self.recipe_folder).parents[1]

    def set_version(self):
        config = load(self, self.tree / "include/tacit/config.hpp")
        self.version = re.search(r'#define TACIT_VERSION "([^"]+)"', config)[1]

    def export_sources(self):
        for pattern in ("LICENSE", "include/*.hpp"):
            copy(self, pattern, self.tree, self.export_sources_folder)

    def layout(self):
        basic_layout(self)

    def validate(self):
        check_min_cppstd(self, 20)

    def package(self):
        copy(self, "LICENSE", self.source_folder, Path(self.package_folder) / "licenses")
        copy(self, "include/*.hpp", self.source_folder, self.package_folder)

    def package_id(self):
        self.info.clear()

    def package_info(self):
        self.cpp_info.bindirs = []
        self.cpp_info.libdirs = []
        if self.settings.os == "Windows":
            self.cpp_info.system_libs = ["bcrypt"]
