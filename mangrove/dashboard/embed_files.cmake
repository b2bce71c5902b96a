# Writes the files of a folder as C++: cmake -DFOLDER=web/dist -DOUTPUT=page_files.inc -P embed_files.cmake
# Each becomes a row {"name", "bytes", length} of a table; the bytes stand there in hexadecimal form.
cmake_minimum_required(VERSION 3.25)
file(GLOB files RELATIVE ${FOLDER} ${FOLDER}/*)
if(NOT "index.html" IN_LIST files)
  message(FATAL_ERROR "no index.html in ${FOLDER}")
endif()
set(rows "")
foreach(file ${files})
  file(READ ${FOLDER}/${file} hex HEX)
  file(SIZE ${FOLDER}/${file} size)
  # lines of 64 bytes: longer ones are slow to compile
  string(REGEX REPLACE "(................................................................)" "\\1\n" hex "${hex}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "\\\\x\\1" hex "${hex}")
  string(REPLACE "\n" "\"\n    \"" hex "${hex}")
  string(APPEND rows "  {\"${file}\", std::string_view(\n    \"${hex}\", ${size})},\n")
endforeach()
file(WRITE ${OUTPUT} "${rows}")
