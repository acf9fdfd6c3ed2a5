# Runs `program` with `words`, a list, which must exit with 0 and print what `output`, a regular expression, matches.
execute_process(COMMAND "${program}" ${words} OUTPUT_VARIABLE printed RESULT_VARIABLE status)
if(NOT status STREQUAL "0")
  message(FATAL_ERROR "exit status ${status}; printed:\n${printed}")
endif()
if(NOT printed MATCHES "${output}")
  message(FATAL_ERROR "expected: ${output}\nprinted:\n${printed}")
endif()
