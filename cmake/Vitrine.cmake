# Build settings and the functions that every CMakeLists.txt of this project uses.
include_guard()
include(GNUInstallDirs)

option(VITRINE_BUILD_TESTS "Build the tests" ON)
option(VITRINE_BUILD_FUZZERS "Build the libFuzzer targets (needs clang)" OFF)
option(VITRINE_BUILD_BENCHMARKS "Build bench/ (needs Google Benchmark)" OFF)
option(VITRINE_UNITY_BUILD "Compile several files as one unit: a clean build takes half the time, a change more" ON)
set(VITRINE_SANITIZER "" CACHE STRING "address, undefined or thread")

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

find_program(VITRINE_CCACHE ccache)
if(VITRINE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # ccache caches a unit with a precompiled header only when told that it may.
  set(CMAKE_CXX_COMPILER_LAUNCHER /usr/bin/env CCACHE_SLOPPINESS=pch_defines,time_macros "${VITRINE_CCACHE}")
  set(CMAKE_C_COMPILER_LAUNCHER "${VITRINE_CCACHE}")
endif()

add_library(vitrine_options INTERFACE)
target_include_directories(vitrine_options INTERFACE "${CMAKE_SOURCE_DIR}/src" "${CMAKE_BINARY_DIR}/generated")
# -ffp-contract=off: the numeric contract says where a multiply and an add are fused; the compiler must not decide.
target_compile_options(vitrine_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wnon-virtual-dtor -Werror -ffp-contract=off)
if(VITRINE_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID STREQUAL Clang)
  # Unlike GCC, it takes what a neighbour in the unit declares for itself for hidden.
  target_compile_options(vitrine_options INTERFACE -Wno-shadow)
endif()
if(VITRINE_SANITIZER)
  # -O1 -g1: the checks hinder the optimiser anyway, and all of it builds in half the time.
  target_compile_options(vitrine_options INTERFACE -O1 -g1 -fsanitize=${VITRINE_SANITIZER} -fno-omit-frame-pointer
    -fno-sanitize-recover=all)
  target_link_options(vitrine_options INTERFACE -fsanitize=${VITRINE_SANITIZER})
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    # Between its checks the compiler loses sight of what was set; its manual says so.
    target_compile_options(vitrine_options INTERFACE -Wno-maybe-uninitialized)
  endif()
endif()
if(VITRINE_BUILD_FUZZERS)
  target_compile_options(vitrine_options INTERFACE -fsanitize=fuzzer-no-link,address,undefined
    -fno-sanitize-recover=all)
  target_link_options(vitrine_options INTERFACE -fsanitize=address,undefined)
endif()
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
target_link_libraries(vitrine_options INTERFACE Threads::Threads)

# Headers that most units read, parsed once per kind of target. Sources include what they use all the same: lint and
# clang builds work without these. nlohmann's costs every unit a second even where it is not used.
set(VITRINE_HOT_HEADERS <algorithm> <array> <atomic> <charconv> <cmath> <condition_variable> <filesystem> <fstream>
  <functional> <map> <memory> <mutex> <optional> <span> <sstream> <string> <string_view> <thread> <unordered_map>
  <utility> <variant> <vector> <fmt/format.h>)
set(VITRINE_COLD_HEADERS ${VITRINE_HOT_HEADERS} <nlohmann/json.hpp>)
set(VITRINE_COLD_OPTIONS $<$<CONFIG:Release>:-O1>)

# vitrine_headers(NAME [COLD] HEADERS h... LIBS l...): what targets of one kind take their precompiled headers from.
function(vitrine_headers name)
  cmake_parse_arguments(ARG "COLD" "" "HEADERS;LIBS" ${ARGN})
  file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/generated/vitrine_${name}.cpp" CONTENT "")
  add_library(vitrine_${name} OBJECT "${CMAKE_BINARY_DIR}/generated/vitrine_${name}.cpp")
  target_link_libraries(vitrine_${name} PRIVATE vitrine_options ${ARG_LIBS})
  if(ARG_COLD)
    target_compile_options(vitrine_${name} PRIVATE ${VITRINE_COLD_OPTIONS})
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    target_compile_options(vitrine_${name} PRIVATE -fpch-preprocess)
    target_precompile_headers(vitrine_${name} PRIVATE ${ARG_HEADERS})
  endif()
endfunction()
vitrine_headers(hot_headers HEADERS ${VITRINE_HOT_HEADERS} LIBS fmt::fmt)
vitrine_headers(cold_headers COLD HEADERS ${VITRINE_COLD_HEADERS} LIBS fmt::fmt nlohmann_json::nlohmann_json)

# vitrine_use_headers(TARGET NAME LIBS l...): the headers, and the libraries and flags they were compiled with.
function(vitrine_use_headers target headers)
  cmake_parse_arguments(ARG "" "" "LIBS" ${ARGN})
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    target_compile_options(${target} PRIVATE -fpch-preprocess)
    target_link_libraries(${target} PRIVATE ${ARG_LIBS})
    target_precompile_headers(${target} REUSE_FROM vitrine_${headers})
    get_target_property(type ${target} TYPE)
    if(type STREQUAL EXECUTABLE)
      # The headers' flags to the letter: CMake would compile an executable with -fPIE.
      set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
      target_compile_options(${target} PRIVATE -fPIC)
    endif()
  endif()
endfunction()

# Most of a file's compile time goes into headers and templates that its neighbours use as well.
function(vitrine_unity target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${VITRINE_UNITY_BUILD} UNITY_BUILD_BATCH_SIZE 8)
  if(VITRINE_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    # The warning means types of headers; it knows a source by its being the unit.
    target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
  endif()
endfunction()

# What is neither a kernel nor a loop over tokens: compiled for a quick build.
function(vitrine_cold target headers)
  vitrine_unity(${target})
  target_compile_options(${target} PRIVATE ${VITRINE_COLD_OPTIONS})
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    # g++ 12 sees overlaps and overruns that are not there in sums of literals and std::string (GCC bug 105651).
    target_compile_options(${target} PRIVATE
      -Wno-restrict -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread)
  endif()
  vitrine_use_headers(${target} ${headers} LIBS fmt::fmt nlohmann_json::nlohmann_json)
endfunction()

# vitrine_library(NAME [COLD] DEPS a b LIBS l SOURCES s COLD_SOURCES s HEADERS h): a static library vitrine_NAME of this
# folder's *.cpp. COLD: no time is spent in it, or in its COLD_SOURCES; they are compiled for a quick build, with the
# precompiled headers h of vitrine_headers (cold_headers where not said).
function(vitrine_library name)
  cmake_parse_arguments(ARG "COLD" "HEADERS" "DEPS;LIBS;SOURCES;COLD_SOURCES" ${ARGN})
  if(NOT ARG_SOURCES)
    file(GLOB ARG_SOURCES CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.cpp")
  endif()
  if(NOT ARG_HEADERS)
    set(ARG_HEADERS cold_headers)
  endif()
  set(links vitrine_options ${ARG_LIBS})
  foreach(dep ${ARG_DEPS})
    list(APPEND links vitrine_${dep})
  endforeach()
  if(ARG_COLD_SOURCES)
    list(TRANSFORM ARG_COLD_SOURCES PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/")
    list(REMOVE_ITEM ARG_SOURCES ${ARG_COLD_SOURCES})
    add_library(vitrine_${name}_cold OBJECT ${ARG_COLD_SOURCES})
    vitrine_cold(vitrine_${name}_cold ${ARG_HEADERS})
    target_link_libraries(vitrine_${name}_cold PRIVATE ${links})
  endif()
  add_library(vitrine_${name} STATIC ${ARG_SOURCES})
  if(ARG_COLD)
    vitrine_cold(vitrine_${name} ${ARG_HEADERS})
  else()
    vitrine_unity(vitrine_${name})
    vitrine_use_headers(vitrine_${name} hot_headers LIBS fmt::fmt)
  endif()
  if(ARG_COLD_SOURCES)
    target_sources(vitrine_${name} PRIVATE $<TARGET_OBJECTS:vitrine_${name}_cold>)
  endif()
  target_link_libraries(vitrine_${name} PUBLIC ${links})
endfunction()

# vitrine_test(NAME DEPS a b): one test binary NAME_test of this folder's *_test.cpp.
function(vitrine_test name)
  cmake_parse_arguments(ARG "" "" "DEPS;LIBS;SOURCES" ${ARGN})
  if(NOT ARG_SOURCES)
    file(GLOB ARG_SOURCES CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*_test.cpp")
  endif()
  add_executable(${name}_test ${ARG_SOURCES})
  vitrine_cold(${name}_test test_headers)
  target_link_libraries(${name}_test PRIVATE vitrine_options vitrine_test_support GTest::gmock GTest::gtest ${ARG_LIBS})
  foreach(dep ${ARG_DEPS})
    target_link_libraries(${name}_test PRIVATE vitrine_${dep})
  endforeach()
  add_test(NAME ${name} COMMAND ${name}_test)
endfunction()

# vitrine_fuzz(NAME MAX_LEN n [RANDOM m] DEPS a b): tests/fuzz/NAME_fuzz.cpp defines LLVMFuzzerTestOneInput. With fuzzers
# on it becomes a libFuzzer binary; in every other build the same file runs over its corpus (tests/fuzz/corpus/NAME) and
# over m random inputs as a plain test.
function(vitrine_fuzz name)
  cmake_parse_arguments(ARG "" "MAX_LEN;RANDOM" "DEPS;LIBS" ${ARGN})
  if(VITRINE_BUILD_FUZZERS)
    add_executable(${name}_fuzz ${name}_fuzz.cpp)
    target_link_options(${name}_fuzz PRIVATE -fsanitize=fuzzer)
  else()
    add_executable(${name}_fuzz ${name}_fuzz.cpp corpus_main.cpp)
    if(ARG_RANDOM)
      set(random --random ${ARG_RANDOM} ${ARG_MAX_LEN})
    endif()
    add_test(NAME fuzz_corpus_${name} COMMAND ${name}_fuzz "${CMAKE_CURRENT_SOURCE_DIR}/corpus/${name}" ${random})
  endif()
  target_include_directories(${name}_fuzz PRIVATE "${CMAKE_SOURCE_DIR}/tests")
  target_link_libraries(${name}_fuzz PRIVATE vitrine_options ${ARG_LIBS})
  foreach(dep ${ARG_DEPS})
    target_link_libraries(${name}_fuzz PRIVATE vitrine_${dep})
  endforeach()
endfunction()
