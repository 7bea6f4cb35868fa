# cmake --install: the command, the compiler wrappers, the plugin, the runtime and the AD stack in both forms, headers, manual
# pages, documents and the CMake package. Builds for several LLVM versions may share a prefix: the plugin's folder names its own.
include(CMakePackageConfigHelpers)
set(package_directory ${CMAKE_INSTALL_LIBDIR}/cmake/adprof)

install(TARGETS adprof adprof_compiler RUNTIME)
foreach(wrapper adprof-clang++ adprof-flang)
  install(PROGRAMS $<TARGET_FILE_DIR:adprof_compiler>/${wrapper} TYPE BIN)
endforeach()
install(TARGETS adprof_pass LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/adprof/llvm${ADPROF_LLVM_VERSION})
install(TARGETS adprof_runtime adprof_runtime_shared adprof_adstack adprof_adstack_shared ARCHIVE LIBRARY)
install(FILES runtime/adstack/adStack.h runtime/adstack/types.def DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/adprof)
file(GLOB man_pages ${PROJECT_SOURCE_DIR}/docs/man/*.1)
install(FILES ${man_pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
file(GLOB documents ${PROJECT_SOURCE_DIR}/docs/*.md)
install(FILES README.md CHANGELOG.md LICENSE ${documents} TYPE DOC)

configure_package_config_file(cmake/adprofConfig.cmake.in ${PROJECT_BINARY_DIR}/adprofConfig.cmake
  INSTALL_DESTINATION ${package_directory}
  PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_BINDIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/adprofConfigVersion.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${PROJECT_BINARY_DIR}/adprofConfig.cmake ${PROJECT_BINARY_DIR}/adprofConfigVersion.cmake
        DESTINATION ${package_directory})
