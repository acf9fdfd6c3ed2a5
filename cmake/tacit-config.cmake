include(CMakeFindDependencyMacro)
if(NOT TARGET Eigen3::Eigen)
  find_dependency(Eigen3 3.4 CONFIG)
endif()
include("${CMAKE_CURRENT_LIST_DIR}/tacit-targets.cmake")
include("${CMAKE_CURRENT_LIST_DIR}/tacit-compiled-targets.cmake" OPTIONAL)

# find_package(tacit COMPONENTS compiled): tacit::compiled, where it was built.
foreach(component IN LISTS tacit_FIND_COMPONENTS)
  if(NOT TARGET tacit::${component} AND tacit_FIND_REQUIRED_${component})
    set(tacit_FOUND FALSE)
    set(tacit_NOT_FOUND_MESSAGE "tacit was installed without tacit::${component}")
  endif()
endforeach()
