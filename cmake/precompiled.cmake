# Headers that many files read, parsed once.
#
# A precompiled header fits only files that are compiled with the same options, hence several: for what awaits
# (links Asio), and for the tests, which are not optimised, with Asio and without. Everything must still build
# without them: the verified header sets and clang-tidy see to it that each file includes what it uses.
set(asio_headers
  <boost/asio/any_io_executor.hpp> <boost/asio/as_tuple.hpp> <boost/asio/awaitable.hpp>
  <boost/asio/bind_cancellation_slot.hpp> <boost/asio/bind_executor.hpp> <boost/asio/co_spawn.hpp>
  <boost/asio/detached.hpp> <boost/asio/io_context.hpp> <boost/asio/ip/tcp.hpp> <boost/asio/post.hpp>
  <boost/asio/posix/stream_descriptor.hpp> <boost/asio/steady_timer.hpp> <boost/asio/strand.hpp>
  <boost/asio/this_coro.hpp> <boost/asio/thread_pool.hpp> <boost/asio/use_awaitable.hpp>
  <boost/asio/use_future.hpp> <algorithm> <chrono> <filesystem> <functional> <map> <memory> <optional> <string>
  <variant> <vector>)
set(test_headers <gmock/gmock.h> <gtest/gtest.h>)

# precompiled(name HEADERS ... DEPS ... OPTIONS ...): an empty library whose header others take over.
function(precompiled name)
  cmake_parse_arguments(arg "" "" "HEADERS;DEPS;OPTIONS" ${ARGN})
  file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/${name}.cc" CONTENT "")  # Leaves it alone if it is there.
  add_library(${name} OBJECT "${CMAKE_BINARY_DIR}/${name}.cc")
  target_link_libraries(${name} PRIVATE project_options ${arg_DEPS})
  target_compile_options(${name} PRIVATE ${arg_OPTIONS})
  target_precompile_headers(${name} PRIVATE ${arg_HEADERS})
endfunction()

# Whether `target` links `library`, directly or through others.
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

function(precompile_headers_below directory)
  get_property(targets DIRECTORY "${directory}" PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target IN LISTS targets)
    get_target_property(type ${target} TYPE)
    if(NOT type MATCHES "^(STATIC_LIBRARY|EXECUTABLE)$" OR target STREQUAL "asio_impl")
      continue()
    endif()
    get_target_property(options ${target} COMPILE_OPTIONS)
    links(awaits ${target} asio_impl)
    links(tests ${target} GTest::gmock)
    if("-O0" IN_LIST options AND tests AND awaits)
      target_precompile_headers(${target} REUSE_FROM testing_awaiting)
    elseif("-O0" IN_LIST options AND tests)
      target_precompile_headers(${target} REUSE_FROM testing)
    elseif(awaits AND NOT "-O0" IN_LIST options)
      target_precompile_headers(${target} REUSE_FROM awaiting)
    endif()
  endforeach()
  get_property(deeper DIRECTORY "${directory}" PROPERTY SUBDIRECTORIES)
  foreach(next IN LISTS deeper)
    precompile_headers_below("${next}")
  endforeach()
endfunction()

# To be called when all targets are known.
function(precompile_headers)
  precompiled(awaiting HEADERS ${asio_headers} DEPS asio_impl)
  precompiled(testing HEADERS ${test_headers} DEPS GTest::gmock OPTIONS -O0)
  precompiled(testing_awaiting HEADERS ${test_headers} ${asio_headers} DEPS asio_impl GTest::gmock OPTIONS -O0)
  precompile_headers_below("${PROJECT_SOURCE_DIR}/src")
  precompile_headers_below("${PROJECT_SOURCE_DIR}/tests")
endfunction()
