# The guest's generated C as libraries: what a worker links, and the instrumented twin that measures
# it.
#
#   guest_sources        runs tools/guest/build (returns at once when nothing changed)
#   guest_objects        the code a worker runs, optimised with the profile
#   guest_objects_train  the same code, instrumented; for the program that runs the snippets
#   guest_profile(TRAINER <target>)   makes the profile with that program; call it once, or set
#                                     GUEST_PGO=OFF
#
# Each library also holds generated_runtime.c. Whoever links one implements caisson_trap and
# caisson_grow_memory; Z_python_instantiate is in an object of its own, so only the program that
# calls it needs caisson_allocate_memory and carries the data segments.
#
# The flags matter for safety, not only for speed:
#   -fno-strict-aliasing -fwrapv      wasm defines what C does not
#   -fno-stack-protector              a canary on a parked stack would not match in another process
#   -fno-pie -fcf-protection=none     return addresses on parked stacks are absolute; no shadow
#                                     stack to restore
#   -fstack-clash-protection          a large frame touches every page, so it cannot jump over the
#                                     guard page
#   -fno-delete-null-pointer-checks   address 0 is ordinary guest memory
#   -fno-sanitize=all                 its memory is not a sanitizer's to shadow

set(GUEST_DIR "${PROJECT_SOURCE_DIR}/build/guest" CACHE PATH "Where tools/guest/build puts the guest")
set(GUEST_BUILD_FLAGS "--allow-older" CACHE STRING "Flags for tools/guest/build; empty insists on the newest sources")
option(GUEST_PGO "Optimise the guest with a profile made by training runs" ON)
find_program(GUEST_PROFDATA llvm-profdata-19)
if(GUEST_PGO AND NOT GUEST_PROFDATA)
  message(FATAL_ERROR "GUEST_PGO needs llvm-profdata-19 (package llvm-19)")
endif()
if(NOT CMAKE_C_COMPILER_ID STREQUAL "Clang")
  message(FATAL_ERROR "The guest needs clang: GCC 12 crashes on __seg_gs")
endif()

set(guest_flags
  -O2 -g0 -w -fno-strict-aliasing -fwrapv -fno-stack-protector -fcf-protection=none -fno-pie
  -fstack-clash-protection -fno-delete-null-pointer-checks -mfsgsbase -fvisibility=hidden -fno-exceptions
  -fno-sanitize=all)
set(guest_profile "${GUEST_DIR}/guest.profdata")
set(guest_profile_stamp "${GUEST_DIR}/guest_profile.h")

# PARTS of tools/guest/build: the names must be known before it has run.
set(guest_files python_table.c python_instantiate.c)
foreach(part RANGE 27)
  if(part LESS 10)
    set(part "0${part}")
  endif()
  list(APPEND guest_files python_${part}.c)
endforeach()
list(TRANSFORM guest_files PREPEND "${GUEST_DIR}/c/")

# Always run, because only the script knows its inputs; it does not touch unchanged outputs.
add_custom_target(guest_sources
  COMMAND "${PROJECT_SOURCE_DIR}/tools/guest/build" ${GUEST_BUILD_FLAGS} "${GUEST_DIR}"
  BYPRODUCTS ${guest_files} "${GUEST_DIR}/c/python.h" "${GUEST_DIR}/c/python_internal.h"
             "${GUEST_DIR}/c/python_identity.h" "${GUEST_DIR}/guest.wasm" "${GUEST_DIR}/library.img"
  USES_TERMINAL VERBATIM)

set(generated_runtime "${PROJECT_SOURCE_DIR}/src/engine/wasm/worker/generated_runtime.c")
set_source_files_properties("${generated_runtime}" PROPERTIES INCLUDE_DIRECTORIES "${PROJECT_SOURCE_DIR}/src")

function(guest_library name)
  add_library(${name} STATIC ${guest_files} "${generated_runtime}")
  add_dependencies(${name} guest_sources)
  set_target_properties(${name} PROPERTIES
    LINKER_LANGUAGE C
    POSITION_INDEPENDENT_CODE OFF
    INTERPROCEDURAL_OPTIMIZATION OFF
    C_CLANG_TIDY "")
  target_include_directories(${name} PUBLIC
    "${GUEST_DIR}/c" "${PROJECT_SOURCE_DIR}/src/engine/wasm/worker")
  target_compile_options(${name} PRIVATE ${guest_flags} ${ARGN})
  target_link_libraries(${name} PUBLIC m)
  target_link_options(${name} INTERFACE -no-pie)
endfunction()

# -O0 compiles in a quarter of the time; the counters do not depend on it.
guest_library(guest_objects_train -O0 -fprofile-instr-generate)
target_link_options(guest_objects_train INTERFACE -fprofile-instr-generate)
set_target_properties(guest_objects_train PROPERTIES EXCLUDE_FROM_ALL ON)

if(GUEST_PGO)
  # The included file changes with the profile, so that a new profile compiles the code again.
  guest_library(guest_objects "-fprofile-instr-use=${guest_profile}" "SHELL:-include ${guest_profile_stamp}")
else()
  guest_library(guest_objects)
endif()

# Runs `TRAINER LIBRARY OUT SNIPPET...` and merges the counters. The trainer boots a guest from the
# library, executes each snippet in it and ends by returning from main (the counters are written
# then). The content of OUT is not used.
function(guest_profile)
  cmake_parse_arguments(arg "" "TRAINER" "" ${ARGN})
  if(NOT GUEST_PGO)
    return()
  endif()
  file(GLOB snippets CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tools/guest/train/*.py")
  add_custom_command(OUTPUT "${guest_profile}" "${guest_profile_stamp}"
    COMMAND ${CMAKE_COMMAND} -E env "LLVM_PROFILE_FILE=${GUEST_DIR}/train.profraw"
            $<TARGET_FILE:${arg_TRAINER}> "${GUEST_DIR}/library.img" "${GUEST_DIR}/train.out" ${snippets}
    COMMAND ${GUEST_PROFDATA} merge -o "${guest_profile}" "${GUEST_DIR}/train.profraw"
    COMMAND ${CMAKE_COMMAND} "-DPROFILE=${guest_profile}" "-DSTAMP=${guest_profile_stamp}"
            -P "${PROJECT_SOURCE_DIR}/cmake/profile_stamp.cmake"
    # Does not depend on the trainer itself: a change of the worker does not change what the guest's
    # code does.
    DEPENDS ${guest_files} ${snippets}
    COMMENT "Running the training snippets in an instrumented guest" VERBATIM)
  add_custom_target(guest_profile_data DEPENDS "${guest_profile}" "${guest_profile_stamp}")
  add_dependencies(guest_profile_data ${arg_TRAINER})
  add_dependencies(guest_objects guest_profile_data)
endfunction()
