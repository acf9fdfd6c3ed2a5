# Builds and runs the user's program beside this file, which finds the library by ${way}.
set(here "${CMAKE_CURRENT_LIST_DIR}")
set(scratch "${build}/installed/${way}")
set(prefix "${scratch}/prefix")
file(REMOVE_RECURSE "${scratch}")

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
endfunction()

if(NOT way STREQUAL "add_subdirectory")
  run("${CMAKE_COMMAND}" --install "${build}" --prefix "${prefix}")
endif()

if(way STREQUAL "pkg_config")
  find_program(pkg_config NAMES pkg-config REQUIRED)
  set(ENV{PKG_CONFIG_PATH} "${prefix}/share/pkgconfig:$ENV{PKG_CONFIG_PATH}")
  execute_process(COMMAND "${pkg_config}" --cflags --libs tacit
    OUTPUT_VARIABLE cflags OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(cflags UNIX_COMMAND "${cflags}")
  separate_arguments(flags UNIX_COMMAND "${flags}")
  run("${compiler}" -std=c++20 ${flags} "${here}/main.cpp" ${cflags} -o "${scratch}/user")
else()
  file(STRINGS "${source}/include/tacit/config.hpp" version REGEX "define TACIT_VERSION \"")
  string(REGEX REPLACE ".*\"([0-9]+\\.[0-9]+).*" "\\1" version "${version}")
  run("${CMAKE_COMMAND}" -S "${here}" -B "${scratch}" -G "${generator}"
    "-DCMAKE_CXX_COMPILER=${compiler}" "-DCMAKE_CXX_FLAGS=${flags}" "-DCMAKE_PREFIX_PATH=${prefix}"
    "-Dway=${way}" "-Dversion=${version}" "-Dsource=${source}")
  run("${CMAKE_COMMAND}" --build "${scratch}")
endif()
run("${scratch}/user")
