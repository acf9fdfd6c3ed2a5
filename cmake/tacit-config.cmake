include(CMakeFindDependencyMacro)
find_dependency(Eigen3 3.4 CONFIG)
find_dependency(Boost 1.74 CONFIG)
include("${CMAKE_CURRENT_LIST_DIR}/tacit-targets.cmake")
