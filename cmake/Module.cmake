# mangrove_module: one static library per folder of mangrove/, with its layering and its warnings.
#
#   mangrove_module(graph
#     EXCEPT main.cc onednn            # files and folders of this folder that are not part of the library
#     PROTOS onnx.proto                # compiled by protoc; generated headers are included as "mangrove/graph/onnx.pb.h"
#     GRPC_PROTOS cluster.proto        # the same with gRPC services ("mangrove/cluster/cluster.grpc.pb.h")
#     DEPENDS base tensor              # modules this one may include from
#     TEST_DEPENDS zoo                 # further modules that its tests may include from
#     OUTSIDE nlohmann_json::nlohmann_json   # outside libraries, linked PRIVATE
#     OUTSIDE_PUBLIC ...               # only where a public header cannot do without
#     PRECOMPILE <nlohmann/json.hpp>   # further headers that most of its sources include; see mangrove_precompile
#     LIGHT                            # it computes little: compiled with -O1, which takes a third less time
#     APART operators)                 # files and folders whose sources are compiled one by one; see mangrove_join
#
# Every other *.cc in the module's folder and the folders in it is part of it. tests/layering.sh compares the DEPENDS of every
# module with its #include lines.

set(MANGROVE_WARNINGS -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  list(APPEND MANGROVE_WARNINGS -Wno-restrict)  # false alarms on std::string (GCC bug 105651)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL Clang)
  # clang's -Wconversion and -Wshadow mean more than GCC's: also integers that change their sign, and names that joined
  # sources have twice. At -O1 it does not unroll loops that a pragma tells it to.
  list(APPEND MANGROVE_WARNINGS -Wthread-safety -Wno-sign-conversion -Wno-shadow -Wno-pass-failed)
endif()

# GCC collects its garbage all the time unless it may keep some: a tenth of the time it compiles. Each compiler then takes
# about 1 GB, which boards do not have.
cmake_host_system_information(RESULT MANGROVE_MEMORY_MIB QUERY TOTAL_PHYSICAL_MEMORY)
cmake_host_system_information(RESULT MANGROVE_CORES QUERY NUMBER_OF_LOGICAL_CORES)
math(EXPR memory_of_a_core "${MANGROVE_MEMORY_MIB} / ${MANGROVE_CORES}")
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND memory_of_a_core GREATER 3000)
  add_compile_options(--param=ggc-min-expand=400)
endif()

function(mangrove_sanitize target)
  if(MANGROVE_SANITIZE)
    target_compile_options(${target} PUBLIC -fsanitize=${MANGROVE_SANITIZE} -fno-omit-frame-pointer)
    target_link_options(${target} PUBLIC -fsanitize=${MANGROVE_SANITIZE})
    if(MANGROVE_SANITIZE MATCHES "undefined")
      # without the checks that cost most to compile, of what AddressSanitizer finds where it is used
      target_compile_options(${target} PUBLIC -fno-sanitize-recover=undefined -fno-sanitize=vptr,null,object-size)
    endif()
  endif()
endfunction()

# Several sources of a module, or of its tests, are compiled as one (a unity build), which takes much less time: what their
# headers cost is paid once. So the functions and constants in their anonymous namespaces must have different names; folders
# of things that are alike are left apart. -DMANGROVE_UNITY=0 compiles each source alone, which is faster for somebody who
# changes one file again and again.
set(sources_as_one 8)
if(memory_of_a_core GREATER 3000)
  set(sources_as_one 24)  # a third less time than with 8
endif()
set(MANGROVE_UNITY ${sources_as_one} CACHE STRING "sources that are compiled as one; 0: none")

# Headers that most sources include are parsed once, not once a file. A source still includes all that it uses: the clang
# build of scripts/check.sh goes without. A header that defines objects, as CLI11's do, must not be precompiled: each source
# would compile them. One of which only some sources use templates, as nlohmann's, costs the others half a second each.
set(headers_of_mangrove_precompiled  # shared by modules
    <algorithm> <array> <atomic> <chrono> <cmath> <condition_variable> <cstdint> <deque> <filesystem>
    <functional> <limits> <map> <memory> <mutex> <numeric> <optional> <set> <span> <string> <string_view> <thread> <utility>
    <variant> <vector>)

set(headers_of_tests_precompiled ${headers_of_mangrove_precompiled} <gtest/gtest.h>)  # shared by their tests

# The target has those of `shared`, another target. With further headers it has its own, which take ten seconds to compile:
# so only if it is compiled in more than three pieces, or must not share.
function(mangrove_precompile target shared)  # target, target that it shares with, further headers
  get_target_property(sources ${target} SOURCES)
  list(LENGTH sources pieces)
  if(MANGROVE_UNITY GREATER 1)
    math(EXPR pieces "${pieces} / ${MANGROVE_UNITY}")
  endif()
  if(target STREQUAL shared OR (ARGN AND pieces GREATER 3) OR "<cstddef>" IN_LIST ARGN)
    target_precompile_headers(${target} PRIVATE ${headers_of_${shared}} ${ARGN})
  else()
    target_precompile_headers(${target} REUSE_FROM ${shared})
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    target_compile_options(${target} PRIVATE -fpch-preprocess)  # ccache asks for it
    if(CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
      # false alarms on std::string (GCC bug 105329), once its headers are precompiled
      target_compile_options(${target} PRIVATE -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread)
    endif()
  endif()
endfunction()

function(mangrove_join target)  # target, files and folders that are left apart
  if(MANGROVE_UNITY GREATER 1)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${MANGROVE_UNITY})
    get_target_property(sources ${target} SOURCES)
    foreach(apart ${ARGN})
      set(alone ${sources})
      list(FILTER alone INCLUDE REGEX "^${apart}(/|$)")
      set_source_files_properties(${alone} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    endforeach()
    if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
      target_compile_options(${target} PRIVATE -Wno-subobject-linkage)  # it takes the joined sources for headers
    endif()
  endif()
endfunction()

file(WRITE ${CMAKE_BINARY_DIR}/generated/precompiled.cc "")
add_library(mangrove_precompiled OBJECT ${CMAKE_BINARY_DIR}/generated/precompiled.cc)
target_compile_options(mangrove_precompiled PRIVATE ${MANGROVE_WARNINGS} -pthread)
mangrove_sanitize(mangrove_precompiled)
mangrove_precompile(mangrove_precompiled mangrove_precompiled)

# Generated code is not ours to warn about: it is compiled in a library of its own and included as a system header.
function(mangrove_protos module grpc)
  set(generated ${CMAKE_BINARY_DIR}/generated)
  set(outputs)
  foreach(proto ${ARGN})
    get_filename_component(stem ${proto} NAME_WE)
    set(base ${generated}/mangrove/${module}/${stem})
    set(files ${base}.pb.cc ${base}.pb.h)
    set(plugin)
    if(grpc)
      list(APPEND files ${base}.grpc.pb.cc ${base}.grpc.pb.h)
      find_program(GRPC_CPP_PLUGIN grpc_cpp_plugin REQUIRED)
      set(plugin --grpc_out=${generated} --plugin=protoc-gen-grpc=${GRPC_CPP_PLUGIN})
    endif()
    find_program(PROTOC protoc REQUIRED)
    add_custom_command(OUTPUT ${files}
      COMMAND ${CMAKE_COMMAND} -E make_directory ${generated}
      COMMAND ${PROTOC} -I${CMAKE_SOURCE_DIR} --cpp_out=${generated} ${plugin} mangrove/${module}/${proto}
      DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${proto} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR} VERBATIM)
    list(APPEND outputs ${files})
  endforeach()
  target_sources(mangrove_${module}_proto PRIVATE ${outputs})
endfunction()

function(mangrove_module module)
  cmake_parse_arguments(M "LIGHT" "" "APART;EXCEPT;PROTOS;GRPC_PROTOS;DEPENDS;TEST_DEPENDS;OUTSIDE;OUTSIDE_PUBLIC;PRECOMPILE" ${ARGN})
  set(target mangrove_${module})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} *.cc)
  foreach(except ${M_EXCEPT})
    list(FILTER sources EXCLUDE REGEX "^${except}(/|$)")
  endforeach()
  add_library(${target} STATIC ${sources})
  target_include_directories(${target} PUBLIC ${CMAKE_SOURCE_DIR})
  target_compile_options(${target} PRIVATE ${MANGROVE_WARNINGS} -pthread)
  mangrove_sanitize(${target})
  if(M_LIGHT)
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
  endif()
  if("OpenMP::OpenMP_CXX" IN_LIST M_OUTSIDE)
    list(APPEND M_PRECOMPILE <cstddef>)  # GCC refuses to share headers between sources with and without OpenMP
  endif()
  mangrove_precompile(${target} mangrove_precompiled ${M_PRECOMPILE})
  mangrove_join(${target} ${M_APART})
  foreach(dependency ${M_DEPENDS})
    target_link_libraries(${target} PUBLIC mangrove_${dependency})
  endforeach()
  target_link_libraries(${target} PRIVATE ${M_OUTSIDE} PUBLIC ${M_OUTSIDE_PUBLIC})
  if(M_PROTOS OR M_GRPC_PROTOS)
    find_package(Protobuf REQUIRED)
    find_package(Threads REQUIRED)
    add_library(${target}_proto STATIC)
    target_include_directories(${target}_proto SYSTEM PUBLIC ${CMAKE_BINARY_DIR}/generated)
    target_compile_options(${target}_proto PRIVATE -w)
    target_link_libraries(${target}_proto PUBLIC protobuf::libprotobuf Threads::Threads)
    mangrove_sanitize(${target}_proto)
    # imported .proto files of other modules must be generated first
    foreach(dependency ${M_DEPENDS})
      if(TARGET mangrove_${dependency}_proto)
        target_link_libraries(${target}_proto PUBLIC mangrove_${dependency}_proto)
      endif()
    endforeach()
    if(M_PROTOS)
      mangrove_protos(${module} FALSE ${M_PROTOS})
    endif()
    if(M_GRPC_PROTOS)
      find_package(gRPC REQUIRED)
      target_link_libraries(${target}_proto PUBLIC gRPC::grpc++)
      mangrove_protos(${module} TRUE ${M_GRPC_PROTOS})
    endif()
    target_link_libraries(${target} PUBLIC ${target}_proto)
  endif()
  set_property(GLOBAL APPEND PROPERTY MANGROVE_MODULES ${module})
  set_property(GLOBAL PROPERTY MANGROVE_TEST_DEPENDS_${module} ${M_TEST_DEPENDS})
  set_property(GLOBAL PROPERTY MANGROVE_PRECOMPILE_${module} ${M_PRECOMPILE})
endfunction()

# What tests themselves compute is little: a quarter less time to compile them, half of it with AddressSanitizer.
set(MANGROVE_TEST_OPTIONS -pthread $<$<CONFIG:Release>:-O1>)
if(MANGROVE_SANITIZE)
  set(MANGROVE_TEST_OPTIONS -pthread -O0)
endif()

# One test program per folder of tests/: every *.cc in it and in the folders in it is part of it, so none can be forgotten.
function(mangrove_tests module)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/${module}/*.cc)
  if(NOT sources)
    return()
  endif()
  set(target ${module}_test)
  add_executable(${target} ${sources})
  target_compile_options(${target} PRIVATE ${MANGROVE_WARNINGS} ${MANGROVE_TEST_OPTIONS})
  get_property(precompile GLOBAL PROPERTY MANGROVE_PRECOMPILE_${module})
  mangrove_precompile(${target} tests_precompiled ${precompile})
  mangrove_join(${target} ${CMAKE_SOURCE_DIR}/tests/codec)
  if(MANGROVE_SANITIZE AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    target_compile_options(${target} PRIVATE -Wno-maybe-uninitialized)  # false alarms in instrumented code
  endif()
  get_property(dependencies GLOBAL PROPERTY MANGROVE_TEST_DEPENDS_${module})
  foreach(dependency ${dependencies})
    target_link_libraries(${target} PRIVATE mangrove_${dependency})
  endforeach()
  target_link_libraries(${target} PRIVATE mangrove_${module} tests_paths GTest::gtest GTest::gtest_main)
  if(NOT MANGROVE_SANITIZE)
    gtest_discover_tests(${target} TEST_PREFIX "${module}/" DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60 NO_PRETTY_VALUES
      PROPERTIES TIMEOUT 300 LABELS ${module})
    return()
  endif()
  # A sanitizer takes longer to start than most tests take to run: a process for a quarter of a program's tests, not for each.
  foreach(shard RANGE 3)
    add_test(NAME ${module}/${shard} COMMAND ${target})
    set_tests_properties(${module}/${shard} PROPERTIES TIMEOUT 1200 LABELS ${module}
      ENVIRONMENT "GTEST_TOTAL_SHARDS=4;GTEST_SHARD_INDEX=${shard}")
  endforeach()
endfunction()
