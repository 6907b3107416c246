# The files that `make install` installs:
#
#   bin/caisson                      the program
#   libexec/caisson/                 the programs it starts: worker, base, fork server
#   lib/libcaisson.a                 everything as one library, for your own programs
#   include/caisson/                 its headers; include <caisson/caisson.h>
#   lib/cmake/Caisson, lib/pkgconfig files to find it
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(library_modules
  base network aead sha256 wakeup asio_impl wire jsonrpc policy_lists policy caller telemetry net net_stdio identity store store_sql
  store_sqlite store_postgres jail engine engine_host engine_wasm engine_native engine_auto workspace tools
  tools_command tools_http tools_mcp approval runs_journal config runs_cells runs model agent checkpoint
  workflow protocol_door protocol_rest protocol_mcp protocol_agui protocol_responses server)
set(library_objects ${library_modules})
list(TRANSFORM library_objects REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>")

add_library(libcaisson STATIC ${library_objects})
set_target_properties(libcaisson PROPERTIES OUTPUT_NAME caisson EXPORT_NAME caisson LINKER_LANGUAGE CXX)
target_compile_features(libcaisson INTERFACE cxx_std_23)
# The library and its users must agree on how Asio was built (see src/base/CMakeLists.txt).
target_compile_definitions(libcaisson INTERFACE BOOST_ASIO_SEPARATE_COMPILATION BOOST_ASIO_NO_DEPRECATED)
target_include_directories(libcaisson INTERFACE
  "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>"
  "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/caisson>")
target_link_libraries(libcaisson INTERFACE Threads::Threads OpenSSL::SSL OpenSSL::Crypto Boost::headers re2 seccomp
  sqlite3 pq)

install(TARGETS caisson RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT runtime)
install(TARGETS caisson-forkserver RUNTIME DESTINATION libexec/caisson COMPONENT runtime)
if(TARGET caisson-worker)
  install(TARGETS caisson-worker RUNTIME DESTINATION libexec/caisson COMPONENT runtime)
  install(FILES "${CMAKE_BINARY_DIR}/caisson.base" DESTINATION libexec/caisson COMPONENT runtime)
else()
  install(PROGRAMS "${WORKER_DIR}/caisson-worker" DESTINATION libexec/caisson COMPONENT runtime)
  install(FILES "${WORKER_DIR}/caisson.base" DESTINATION libexec/caisson COMPONENT runtime)
endif()

install(TARGETS libcaisson EXPORT Caisson ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT Caisson NAMESPACE Caisson:: FILE CaissonTargets.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Caisson)

# The umbrella header and the headers it includes; those of engines, jail and protocols are not
# installed.
foreach(module base wire policy caller identity store workspace tools config approval runs runs/cells
        runs/journal model agent checkpoint workflow)
  file(GLOB headers CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/${module}/*.h")
  list(FILTER headers EXCLUDE REGEX "_test\\.h$")
  install(FILES ${headers} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/caisson/${module})
endforeach()
foreach(header engine host_files limits outcome seal)
  install(FILES "${PROJECT_SOURCE_DIR}/src/engine/${header}.h"
          DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/caisson/engine)
endforeach()
# What an OfferedSetting includes of upstreams.
foreach(header mcp/upstream mcp/upstream_instance mcp/upstream_link http/client http/http_rules http/proxy
        http/url)
  cmake_path(GET header PARENT_PATH folder)
  install(FILES "${PROJECT_SOURCE_DIR}/src/tools/${header}.h"
          DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/caisson/tools/${folder})
endforeach()
foreach(header audit_copier backends background_loop code_service configured_workflows host host_state offered_setting periodic version)
  install(FILES "${PROJECT_SOURCE_DIR}/src/server/${header}.h"
          DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/caisson/server)
endforeach()
install(FILES "${PROJECT_SOURCE_DIR}/src/server/caisson.h"
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/caisson)

configure_package_config_file(cmake/CaissonConfig.cmake.in "${CMAKE_BINARY_DIR}/CaissonConfig.cmake"
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Caisson)
write_basic_package_version_file("${CMAKE_BINARY_DIR}/CaissonConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_BINARY_DIR}/CaissonConfig.cmake" "${CMAKE_BINARY_DIR}/CaissonConfigVersion.cmake"
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Caisson)
configure_file(cmake/caisson.pc.in "${CMAKE_BINARY_DIR}/caisson.pc" @ONLY)
install(FILES "${CMAKE_BINARY_DIR}/caisson.pc" DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
