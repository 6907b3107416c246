# Precompiled headers: headers that many files include are parsed once.
#
# A precompiled header fits only files that are compiled with the same options, so there are
# separate ones for tests, which are not optimised. In general, the more a target links, the more is
# precompiled for it. Everything must still build without them: the verified header sets and
# clang-tidy ensure that each file includes what it uses.
set(plain_headers
  <algorithm> <array> <chrono> <cstdint> <filesystem> <functional> <map> <memory> <optional> <string> <string_view>
  <utility> <variant> <vector> <base/result.h> <base/unique_fd.h>)
set(awaiting_headers
  <boost/asio/any_io_executor.hpp> <boost/asio/as_tuple.hpp> <boost/asio/awaitable.hpp>
  <boost/asio/bind_cancellation_slot.hpp> <boost/asio/bind_executor.hpp> <boost/asio/co_spawn.hpp>
  <boost/asio/detached.hpp> <boost/asio/io_context.hpp> <boost/asio/ip/tcp.hpp> <boost/asio/post.hpp>
  <boost/asio/posix/stream_descriptor.hpp> <boost/asio/steady_timer.hpp> <boost/asio/strand.hpp>
  <boost/asio/this_coro.hpp> <boost/asio/thread_pool.hpp> <boost/asio/use_awaitable.hpp>
  <boost/asio/use_future.hpp> ${plain_headers})
set(running_headers ${awaiting_headers} <engine/engine.h>)
set(test_headers <gmock/gmock.h> <gtest/gtest.h>)

# precompiled(name HEADERS ... DEPS ... OPTIONS ...): an empty library whose precompiled header
# others use.
function(precompiled name)
  cmake_parse_arguments(arg "" "" "HEADERS;DEPS;OPTIONS" ${ARGN})
  # Does not touch an existing file.
  file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/${name}.cc" CONTENT "")
  add_library(${name} OBJECT "${CMAKE_BINARY_DIR}/${name}.cc")
  target_link_libraries(${name} PRIVATE project_options ${arg_DEPS})
  target_compile_options(${name} PRIVATE ${arg_OPTIONS})
  target_precompile_headers(${name} PRIVATE ${arg_HEADERS})
endfunction()

# Sets `result` to whether `target` links `library`, directly or through others.
function(links result target library)
  set(found FALSE)
  if(target STREQUAL library)
    set(found TRUE)
  elseif(TARGET ${target})
    get_property(known TARGET ${target} PROPERTY "LINKS_${library}" SET)
    if(known)
      get_property(found TARGET ${target} PROPERTY "LINKS_${library}")
    else()
      get_target_property(public ${target} INTERFACE_LINK_LIBRARIES)
      get_target_property(own ${target} LINK_LIBRARIES)
      foreach(next IN LISTS public own)
        links(found "${next}" ${library})
        if(found)
          break()
        endif()
      endforeach()
      set_property(TARGET ${target} PROPERTY "LINKS_${library}" ${found})
    endif()
  endif()
  set(${result} ${found} PARENT_SCOPE)
endfunction()

# Sets `result` to the precompiled header for `target`, or to nothing.
function(precompiled_for result target)
  get_target_property(type ${target} TYPE)
  get_target_property(options ${target} COMPILE_OPTIONS)
  get_target_property(sources ${target} SOURCES)
  links(ours ${target} project_options)
  links(awaits ${target} asio_impl)
  links(runs ${target} engine)
  set(name "")
  if(type MATCHES "^(STATIC_LIBRARY|EXECUTABLE)$" AND ours AND NOT sources MATCHES "\\.(c|S)(;|$)" AND
     NOT target STREQUAL "asio_impl")
    if(runs)
      set(name running)
    elseif(awaits)
      set(name awaiting)
    else()
      set(name plain)
    endif()
    if("-O0" IN_LIST options)
      string(PREPEND name "testing_")
    elseif(options)
      set(name "")
    endif()
  endif()
  set(${result} "${name}" PARENT_SCOPE)
endfunction()

function(precompile_headers_below directory)
  get_property(targets DIRECTORY "${directory}" PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target IN LISTS targets)
    precompiled_for(name ${target})
    if(name)
      target_precompile_headers(${target} REUSE_FROM ${name})
    endif()
  endforeach()
  get_property(deeper DIRECTORY "${directory}" PROPERTY SUBDIRECTORIES)
  foreach(next IN LISTS deeper)
    precompile_headers_below("${next}")
  endforeach()
endfunction()

# Call it when all targets are known.
function(precompile_headers)
  foreach(name IN ITEMS plain awaiting running)
    set(deps "")
    if(NOT name STREQUAL "plain")
      set(deps asio_impl)
    endif()
    precompiled(${name} HEADERS ${${name}_headers} DEPS ${deps})
    precompiled(testing_${name} HEADERS ${test_headers} ${${name}_headers} DEPS ${deps} GTest::gmock OPTIONS -O0)
  endforeach()
  precompile_headers_below("${PROJECT_SOURCE_DIR}/src")
  precompile_headers_below("${PROJECT_SOURCE_DIR}/tests")
endfunction()
