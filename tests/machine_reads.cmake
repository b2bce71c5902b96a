cmake_minimum_required(VERSION 3.25)
# Fails when code that plays a role of a job, or that it is made of, reads the machine under it:
#   cmake -DROOT=. -P tests/machine_reads.cmake
# The machine that simulates a device has another name and other cores, memory and time. A role asks its job::Device and
# its Clock; what knows neither is told.
get_filename_component(ROOT ${ROOT} ABSOLUTE)
set(folders exits infer learn plan privacy train)
set(calls  # as functions: of a device or a clock they are members
  clock_gettime cpu_limit control_groups get_nprocs gethostname getrusage gettimeofday host_name machine_cores malloc_trim
  memory_limit peak_resident_memory process_cpu_time rationed_time release_freed_memory resident_memory
  sched_getaffinity std::clock std::time sysconf sysinfo thread_cpu_time uname usable_cores)
list(JOIN calls "|" calls)
set(patterns
  "(^|[^.>a-z_])(${calls})\\("
  "hardware_concurrency|_clock::now"
  "\"/(proc|sys)[/\"]"
  "job/machine\\.h|job::Machine|[ (]Machine\\("
  "base/(control_group|host_name|process_cpu|process_memory)\\.h")
set(forbidden  # what the patterns must see
  "const Bytes all = memory_limit()" "x(std::thread::hardware_concurrency())" "read_file(\"/proc/meminfo\")"
  "job::Machine().cores()" "#include \"mangrove/base/host_name.h\"" "  const long page = ::sysconf(_SC_PAGESIZE)"
  "std::chrono::steady_clock::now()")
set(allowed "context.device.resident_memory()" "device->release_freed_memory()" "context_.clock.now()")

function(find_pattern line result)
  set(${result} FALSE PARENT_SCOPE)
  foreach(pattern IN LISTS patterns)
    if(line MATCHES "${pattern}")
      set(${result} TRUE PARENT_SCOPE)
    endif()
  endforeach()
endfunction()

foreach(line IN LISTS forbidden)
  find_pattern("${line}" is_found)
  if(NOT is_found)
    message(FATAL_ERROR "machine_reads: does not see ${line}")
  endif()
endforeach()
foreach(line IN LISTS allowed)
  find_pattern("${line}" is_found)
  if(is_found)
    message(FATAL_ERROR "machine_reads: would forbid ${line}")
  endif()
endforeach()

set(problems)
foreach(folder IN LISTS folders)
  file(GLOB_RECURSE sources RELATIVE ${ROOT} ${ROOT}/mangrove/${folder}/*.h ${ROOT}/mangrove/${folder}/*.cc)
  if(NOT sources)
    message(FATAL_ERROR "machine_reads: no source found in ${ROOT}/mangrove/${folder}")
  endif()
  foreach(source IN LISTS sources)
    foreach(pattern IN LISTS patterns)
      file(STRINGS ${ROOT}/${source} lines REGEX "${pattern}")
      foreach(line IN LISTS lines)
        string(STRIP "${line}" line)
        list(APPEND problems "${source}: ${line}")
      endforeach()
    endforeach()
  endforeach()
endforeach()
if(problems)
  list(JOIN problems "\n  " text)
  message(FATAL_ERROR "the machine is read where a device should be asked:\n  ${text}")
endif()
