cmake_minimum_required(VERSION 3.25)
# Fails when code compares the name of a strategy, scheduler, fault policy or codec with a text, or sets a strategy by one:
#   cmake -DROOT=. -P tests/table_names.cmake
# Whoever treats one row of a table differently asks for a trait of the row. Then a new row needs no edit elsewhere. For the
# same reason it fails when a source names the function that makes a row: it stands in the file of the row, and in the list.
set(problems)

# The names that a macro lists, which is how a table names the functions of its rows.
function(listed result header macro)
  file(READ ${ROOT}/${header} text)
  string(FIND "${text}" "#define ${macro}" start)
  if(start EQUAL -1)
    message(FATAL_ERROR "table_names: ${header} has no list ${macro}")
  endif()
  string(SUBSTRING "${text}" ${start} -1 list)
  string(FIND "${list}" "\n\n" end)  # an empty line follows the list
  string(SUBSTRING "${list}" 0 ${end} list)
  string(REPLACE "#define ${macro}" "" list "${list}")
  string(REGEX MATCHALL "[a-zA-Z0-9_]+" names "${list}")
  set(${result} "${names}" PARENT_SCOPE)
endfunction()

listed(training mangrove/train/rows.h MG_TRAINING_STRATEGIES)
listed(inference mangrove/infer/rows.h MG_INFERENCE_STRATEGIES)
listed(codecs mangrove/codec/codecs/rows.h MG_CODECS)
listed(datasets mangrove/data/dataset_row.h MG_DATASETS)
listed(families mangrove/zoo/family.h MG_FAMILIES)
listed(schedulers mangrove/infer/tiers/schedulers/scheduler.h MG_SCHEDULERS)
listed(commands mangrove/cli/commands.cc MG_COMMANDS)

list(REMOVE_ITEM codecs none)  # of no codec: the key may also be empty
string(JOIN "|" strategies ${training} ${inference})
string(JOIN "|" codec_names ${codecs})
set(patterns  # whatever is compared: few other things have these names
  "[!=]= \"(${strategies}|${codec_names})\""
  "\"(${strategies}|${codec_names})\" [!=]="
  "starts_with\\(\"(${strategies}|${codec_names})[(\"]"
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

# Each function that makes a row is named once, where it is defined.
function(check_named_once folder what prefix)  # names behind these
  file(GLOB_RECURSE sources ${ROOT}/mangrove/${folder}*.cc)
  set(found)
  foreach(source ${sources})
    file(STRINGS ${source} lines REGEX "${prefix}[a-zA-Z0-9_]+")
    string(REGEX MATCHALL "${prefix}[a-zA-Z0-9_]+" names "${lines}")
    list(APPEND found ${names})
  endforeach()
  foreach(name ${ARGN})
    set(same ${found})
    list(FILTER same INCLUDE REGEX "^${prefix}${name}$")
    list(LENGTH same count)
    if(NOT count EQUAL 1)
      list(APPEND problems "${what} ${name}: ${count} sources name the function of its row, expected the one that has it")
    endif()
  endforeach()
  set(problems "${problems}" PARENT_SCOPE)
endfunction()

check_named_once(train/ strategy "rows::" ${training})
check_named_once(infer/ strategy "rows::" ${inference})
check_named_once(data/ "data set" "rows::" ${datasets})
check_named_once(zoo/ family "rows::" ${families})
check_named_once(infer/ scheduler "" ${schedulers})
check_named_once(cli/commands/ command "" ${commands})
if(problems)
  list(JOIN problems "\n  " lines)
  message(FATAL_ERROR "names of rows outside of their rows:\n  ${lines}")
endif()
