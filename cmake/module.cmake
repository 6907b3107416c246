# module(name SOURCES ... TESTS ... DEPS ...): one folder of src/, one library, one test program.
#
# All headers of the folder (or HEADERS, where a folder holds more than one library) go into a
# verified header set, so each must compile on its own. Dependencies are PUBLIC: the include rules
# live in layers.toml, not here.
function(module name)
  cmake_parse_arguments(arg "" "" "SOURCES;HEADERS;TESTS;DEPS;TEST_DEPS" ${ARGN})
  string(REPLACE "/" "_" target "${name}")
  set(headers ${arg_HEADERS})
  if(NOT headers)
    file(GLOB headers CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.h")
  endif()

  add_library(${target} STATIC)
  target_sources(${target}
    PRIVATE ${arg_SOURCES}
    PUBLIC FILE_SET HEADERS BASE_DIRS "${PROJECT_SOURCE_DIR}/src" FILES ${headers})
  set_target_properties(${target} PROPERTIES
    LINKER_LANGUAGE CXX
    VERIFY_INTERFACE_HEADER_SETS ON)
  target_link_libraries(${target} PUBLIC project_options ${arg_DEPS})

  if(arg_TESTS AND BUILD_TESTING)
    add_executable(${target}_test ${arg_TESTS})
    target_compile_options(${target}_test PRIVATE -O0)  # As in tests/CMakeLists.txt.
    target_link_libraries(${target}_test PRIVATE ${target} ${arg_TEST_DEPS} GTest::gmock GTest::gtest_main)
    gtest_discover_tests(${target}_test DISCOVERY_TIMEOUT 30 PROPERTIES LABELS unit TIMEOUT ${UNIT_TEST_SECONDS})
  endif()
endfunction()
