# tacit::highway and tacit::lapacke: libraries that make PAC privacy faster, for programs that want them. All files of
# a program have to agree, since what they change is inline: link either one to all that include tacit, or to none.
#
#   tacit::highway   sorts by Highway's VQSort
#   tacit::lapacke   eigenvectors by LAPACK, through LAPACKE
#
# Each is made where it is found. TACIT_WITH_HIGHWAY or TACIT_WITH_LAPACKE: OFF not even looks, ON fails without it.

if(NOT TARGET tacit::highway AND NOT "${TACIT_WITH_HIGHWAY}" STREQUAL "OFF")
  if(NOT TARGET hwy::hwy_contrib)  # a parent project's target serves
    find_package(hwy QUIET CONFIG)
    if(TARGET hwy::hwy_contrib)
      set_target_properties(hwy::hwy_contrib hwy::hwy PROPERTIES IMPORTED_GLOBAL TRUE)
    endif()
  endif()
  if(TARGET hwy::hwy_contrib)
    add_library(tacit::highway INTERFACE IMPORTED GLOBAL)
    target_compile_definitions(tacit::highway INTERFACE TACIT_HIGHWAY)
    target_link_libraries(tacit::highway INTERFACE hwy::hwy_contrib hwy::hwy)
  elseif("${TACIT_WITH_HIGHWAY}" STREQUAL "ON")
    message(FATAL_ERROR "TACIT_WITH_HIGHWAY: no Highway with hwy_contrib (Debian: libhwy-dev)")
  endif()
endif()

if(NOT TARGET tacit::lapacke AND NOT "${TACIT_WITH_LAPACKE}" STREQUAL "OFF")
  find_library(TACIT_LAPACKE_LIBRARY NAMES lapacke)
  mark_as_advanced(TACIT_LAPACKE_LIBRARY)
  if(TACIT_LAPACKE_LIBRARY)
    add_library(tacit::lapacke INTERFACE IMPORTED GLOBAL)
    target_compile_definitions(tacit::lapacke INTERFACE TACIT_LAPACKE)
    target_link_libraries(tacit::lapacke INTERFACE "${TACIT_LAPACKE_LIBRARY}")
  elseif("${TACIT_WITH_LAPACKE}" STREQUAL "ON")
    message(FATAL_ERROR "TACIT_WITH_LAPACKE: no LAPACKE (Debian: liblapacke-dev)")
  endif()
endif()
