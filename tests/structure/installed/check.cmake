# Builds and runs a user's program by each way to find the library: the CMake projects beside this file,
# pkg-config, and -I alone. What find_package and pkg-config find is installed once. Nothing finds Boost.
cmake_minimum_required(VERSION 3.21)
set(here "${CMAKE_CURRENT_LIST_DIR}")
set(scratch "${build}/installed")
set(prefix "${scratch}/prefix")
file(REMOVE_RECURSE "${scratch}")

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
endfunction()

run("${CMAKE_COMMAND}" --install "${build}" --prefix "${prefix}")

# Headers alone serve every architecture, one of pointers of 12 bytes, too; a library that is compiled does not.
file(GLOB compiled "${prefix}/lib*/libtacit.a" "${prefix}/lib*/*/libtacit.a")
set(CMAKE_SIZEOF_VOID_P 12)
include("${prefix}/share/cmake/tacit/tacit-config-version.cmake")
if((compiled AND NOT PACKAGE_VERSION_UNSUITABLE) OR (NOT compiled AND PACKAGE_VERSION_UNSUITABLE))
  message(FATAL_ERROR "the package names the wrong architectures; compiled: [${compiled}]")
endif()

set(options -G "${generator}" "-DCMAKE_CXX_COMPILER=${compiler}" "-DCMAKE_CXX_FLAGS=${flags}"
  "-DCMAKE_PREFIX_PATH=${prefix}" "-Dsource=${source}" "-Deigen=${eigen}"
  -DCMAKE_DISABLE_FIND_PACKAGE_Boost=ON --no-warn-unused-cli)
set(ways find_package add_subdirectory fetch_content)
if(compiled)
  list(APPEND ways find_compiled)
endif()
foreach(way IN LISTS ways)
  set(folder "${scratch}/${way}")
  run("${CMAKE_COMMAND}" -S "${here}/${way}" -B "${folder}" -Dcomponent=compiled "${options}")
  run("${CMAKE_COMMAND}" --build "${folder}")
  run("${folder}/your_program")
endforeach()

# A component that was not installed is refused by its name.
set(component absent)
if(NOT compiled)
  set(component compiled)
endif()
execute_process(
  COMMAND "${CMAKE_COMMAND}" -S "${here}/find_compiled" -B "${scratch}/refused"
    "-Dcomponent=${component}" ${options}
  RESULT_VARIABLE status OUTPUT_QUIET ERROR_VARIABLE said)
string(FIND "${said}" "tacit was installed without tacit::${component}" place)
if(status EQUAL 0 OR place EQUAL -1)
  message(FATAL_ERROR "the component ${component} is not refused by name: ${said}")
endif()

separate_arguments(flags UNIX_COMMAND "${flags}")

find_program(pkg_config NAMES pkg-config REQUIRED)
set(ENV{PKG_CONFIG_PATH} "${prefix}/share/pkgconfig:$ENV{PKG_CONFIG_PATH}")
execute_process(COMMAND "${pkg_config}" --cflags --libs tacit
  OUTPUT_VARIABLE cflags OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
separate_arguments(cflags UNIX_COMMAND "${cflags}")
run("${compiler}" -std=c++20 ${flags} "${here}/main.cpp" ${cflags} -o "${scratch}/by_pkg_config")
run("${scratch}/by_pkg_config")

set(folders "-I${source}/include")
foreach(folder IN LISTS eigen)
  if(NOT folder STREQUAL "/usr/include")
    list(APPEND folders "-I${folder}")
  endif()
endforeach()
run("${compiler}" -std=c++20 ${flags} "${here}/main.cpp" ${folders} -o "${scratch}/by_include_path")
run("${scratch}/by_include_path")
