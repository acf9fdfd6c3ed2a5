# `cpack -G DEB` in a build folder: tacit, the calculator, where it was built; libtacit-dev, the headers. The
# calculator of the preset `static` depends on nothing.
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/libtacit-dev"
  RENAME copyright COMPONENT headers)
set(CPACK_COMPONENTS_ALL headers)
if(TARGET tacit_calculator)
  install(TARGETS tacit_calculator COMPONENT calculator)
  install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/tacit"
    RENAME copyright COMPONENT calculator)
  list(APPEND CPACK_COMPONENTS_ALL calculator)
endif()

set(CPACK_PACKAGE_CONTACT "the tacit maintainers <security@tacit.invalid>")
set(CPACK_PACKAGING_INSTALL_PREFIX "/usr")
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_HEADERS_PACKAGE_NAME libtacit-dev)
set(CPACK_DEBIAN_HEADERS_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_HEADERS_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_HEADERS_PACKAGE_DEPENDS "libeigen3-dev (>= 3.4)")
set(CPACK_COMPONENT_HEADERS_DESCRIPTION
  "certified privacy accounting and mechanisms, C++ headers
 Intervals that certainly contain the epsilon of a run of differentially private steps, noise for PAC privacy,
 and private zeroth-order training, as templated headers.")
set(CPACK_DEBIAN_CALCULATOR_PACKAGE_NAME tacit)
set(CPACK_DEBIAN_CALCULATOR_PACKAGE_SECTION math)
set(CPACK_DEBIAN_CALCULATOR_PACKAGE_SHLIBDEPS ON)
set(CPACK_COMPONENT_CALCULATOR_DESCRIPTION
  "certified privacy accounting, calculator
 Answers on the command line what a release gives away: epsilon, delta, noise, steps and rates with intervals
 that certainly contain the truth; attack success; noise for PAC privacy; private fine-tuning of small models.")
include(CPack)
