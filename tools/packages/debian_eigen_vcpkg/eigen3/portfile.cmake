# find_package(Eigen3) finds Debian's own.
set(VCPKG_POLICY_EMPTY_PACKAGE enabled)
