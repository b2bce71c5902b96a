cmake_minimum_required(VERSION 3.25)
# Fails when code compares the name of a strategy, scheduler, fault policy or codec with a text, or sets a strategy by one:
#   cmake -DROOT=. -P tests/table_names.cmake
# Whoever treats one row of a table differently asks for a trait of the row. Then a new row needs no edit elsewhere.
set(problems)
function(row_names result)
  set(names)
  foreach(table ${ARGN})
    file(STRINGS ${table} rows REGEX "^ +(Strategy{|return {)?\\.name = \"")
    foreach(row ${rows})
      string(REGEX REPLACE ".*\\.name = \"([a-z_0-9]+)\".*" "\\1" name "${row}")
      list(APPEND names ${name})
    endforeach()
  endforeach()
  if(NOT names)
    message(FATAL_ERROR "table_names: no row found in ${ARGN}")
  endif()
  list(JOIN names "|" alternatives)
  set(${result} "(${alternatives})" PARENT_SCOPE)
endfunction()

row_names(strategies ${ROOT}/mangrove/train/strategy.cc ${ROOT}/mangrove/infer/strategy.cc)
file(GLOB codec_files ${ROOT}/mangrove/codec/codecs/*.cc)
row_names(codecs ${codec_files})
string(REPLACE "none|" "" codecs "${codecs}")  # of no codec: the key may also be empty
set(patterns  # whatever is compared: few other things have these names
  "[!=]= \"(${strategies}|${codecs})\""
  "\"(${strategies}|${codecs})\" [!=]="
  "starts_with\\(\"(${strategies}|${codecs})[(\"]"
  "(scheduler|policy)[a-z_.()]* [!=]= \""
  "\" [!=]= [a-z_.()>-]*(scheduler|policy)")
set(patterns_outside  # of train, infer and plan, which have the rows and plans of these names
  "strategy\\(\"(${strategies})\""
  "(= {?|strategies = {.*, )\"(${strategies})\"[;,}]")
file(GLOB_RECURSE sources ${ROOT}/mangrove/*.h ${ROOT}/mangrove/*.cc)
foreach(source ${sources})
  set(forbidden ${patterns})
  if(NOT source MATCHES "/mangrove/(train|infer|plan)/")
    list(APPEND forbidden ${patterns_outside})
  endif()
  foreach(pattern ${forbidden})
    file(STRINGS ${source} lines REGEX "${pattern}")
    foreach(line ${lines})
      string(STRIP "${line}" line)
      list(APPEND problems "${source}: ${line}")
    endforeach()
  endforeach()
endforeach()
if(problems)
  list(JOIN problems "\n  " lines)
  message(FATAL_ERROR "names compared that should be traits of their rows:\n  ${lines}")
endif()
