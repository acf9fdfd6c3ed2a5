include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

# Headers are the same on every machine, so the package lives in share/; with tacit::compiled it serves
# the architecture of that library alone.
set(package_dir "${CMAKE_INSTALL_DATADIR}/cmake/tacit")

install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/tacit"
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT headers FILES_MATCHING PATTERN "*.hpp")
install(TARGETS tacit EXPORT tacit_targets INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(EXPORT tacit_targets COMPONENT headers
  FILE tacit-targets.cmake NAMESPACE tacit:: DESTINATION "${package_dir}")
if(TACIT_BUILD_COMPILED)
  install(TARGETS tacit_compiled EXPORT tacit_compiled_targets COMPONENT compiled)
  install(EXPORT tacit_compiled_targets COMPONENT compiled
    FILE tacit-compiled-targets.cmake NAMESPACE tacit:: DESTINATION "${package_dir}")
endif()

# Before 1.0 a new minor version may break what stood.
set(arch_independent ARCH_INDEPENDENT)
if(TACIT_BUILD_COMPILED)
  unset(arch_independent)
endif()
write_basic_package_version_file("${PROJECT_BINARY_DIR}/tacit-config-version.cmake"
  COMPATIBILITY SameMinorVersion ${arch_independent})
install(FILES "${PROJECT_SOURCE_DIR}/cmake/tacit-config.cmake"
  "${PROJECT_SOURCE_DIR}/cmake/tacit-libraries.cmake"
  "${PROJECT_BINARY_DIR}/tacit-config-version.cmake"
  DESTINATION "${package_dir}" COMPONENT headers)

configure_file("${PROJECT_SOURCE_DIR}/cmake/tacit.pc.in" "${PROJECT_BINARY_DIR}/tacit.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/tacit.pc" DESTINATION "${CMAKE_INSTALL_DATADIR}/pkgconfig"
  COMPONENT headers)
