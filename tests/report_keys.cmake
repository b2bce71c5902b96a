cmake_minimum_required(VERSION 3.25)
# Fails when the command line takes values out of what a job reports by the name of a key:
#   cmake -DROOT=. -P tests/report_keys.cmake
# Reports and results are structs that describe their fields (mangrove/job/json_fields.h): read_json() checks them.
set(own_results  # of one command alone, which makes and prints them itself: nobody else reads these
  commands/data_command.cc commands/data_info.cc commands/model_command.cc commands/predict_command.cc
  commands/privacy_command.cc commands/quantize_command.cc commands/strategies_command.cc commands/tune_exits_command.cc
  reports/model_report.cc reports/predict_report.cc reports/quantize_report.cc reports/training_report.cc)
set(patterns
  "(\\.|->)(value|at|find|contains|get)\\(\"[a-z_]+\""
  "[])a-z_]\\[\"[a-z_]+\"\\]")
set(problems)
file(GLOB_RECURSE sources RELATIVE ${ROOT}/mangrove/cli ${ROOT}/mangrove/cli/*.h ${ROOT}/mangrove/cli/*.cc)
if(NOT sources)
  message(FATAL_ERROR "report_keys: no source found in ${ROOT}/mangrove/cli")
endif()
foreach(source ${sources})
  if(source IN_LIST own_results)
    continue()
  endif()
  foreach(pattern ${patterns})
    file(STRINGS ${ROOT}/mangrove/cli/${source} lines REGEX "${pattern}")
    foreach(line ${lines})
      if(NOT line MATCHES "keys\\.(at|find)\\(|results\\.contains\\(\"train\"")  # keys of a job file; sections of `mangrove run`
        list(APPEND problems "mangrove/cli/${source}: ${line}")
      endif()
    endforeach()
  endforeach()
endforeach()
if(problems)
  list(JOIN problems "\n  " text)
  message(FATAL_ERROR "report_keys: read by key; use a described struct:\n  ${text}")
endif()
