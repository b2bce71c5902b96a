# What `cmake --install` installs, and the Debian packages that `cpack` makes; scripts/package.sh builds and checks them.
#
#   component program     the program, its manual page, the completions of shells
#   component simulator   the program that `mangrove sim` starts, and its page, in a package of its own: it needs many libraries
#   component service     units of systemd, their settings
#   component documents, simulator_documents   those that Debian asks for
#
# The last three have fixed paths, so they are in the packages only.

include(GNUInstallDirs)

set(deploy ${CMAKE_SOURCE_DIR}/deploy)
set(packaged ${CMAKE_BINARY_DIR}/share)
set(packaged_files ${packaged}/mangrove.1.gz ${packaged}/mangrove-sim.1.gz ${packaged}/changelog.gz ${packaged}/mangrove.bash
  ${packaged}/_mangrove ${packaged}/mangrove.fish)
set(MANGROVE_MAINTAINER "The Mangrove authors <mangrove@example.org>" CACHE STRING "who answers for the packages")
add_custom_command(OUTPUT ${packaged_files}
  COMMAND ${CMAKE_COMMAND} -E make_directory ${packaged}
  COMMAND mangrove man > ${packaged}/mangrove.1
  COMMAND gzip -9nf ${packaged}/mangrove.1
  COMMAND gzip -9nc ${deploy}/man/mangrove-sim.1 > ${packaged}/mangrove-sim.1.gz
  COMMAND ${deploy}/debian/changelog.sh ${CMAKE_SOURCE_DIR}/CHANGELOG.md ${MANGROVE_MAINTAINER} > ${packaged}/changelog
  COMMAND gzip -9nf ${packaged}/changelog
  COMMAND mangrove completion bash > ${packaged}/mangrove.bash
  COMMAND mangrove completion zsh > ${packaged}/_mangrove
  COMMAND mangrove completion fish > ${packaged}/mangrove.fish
  DEPENDS mangrove ${CMAKE_SOURCE_DIR}/CHANGELOG.md ${deploy}/debian/changelog.sh ${deploy}/man/mangrove-sim.1 VERBATIM)
add_custom_target(mangrove_share ALL DEPENDS ${packaged_files})

install(TARGETS mangrove RUNTIME COMPONENT program)
install(TARGETS mangrove-sim RUNTIME COMPONENT simulator)
install(FILES ${packaged}/mangrove.1.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT program)
install(FILES ${packaged}/mangrove-sim.1.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT simulator)
install(FILES ${packaged}/mangrove.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME mangrove
  COMPONENT program)
install(FILES ${packaged}/_mangrove DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions COMPONENT program)
install(FILES ${packaged}/mangrove.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT program)
install(FILES ${CMAKE_SOURCE_DIR}/docs/job.schema.json DESTINATION ${CMAKE_INSTALL_DATADIR}/mangrove COMPONENT program)

install(DIRECTORY ${deploy}/systemd/ DESTINATION /lib/systemd/system COMPONENT service EXCLUDE_FROM_ALL)
install(FILES ${deploy}/etc/coordinator.yaml ${deploy}/etc/node.yaml
  DESTINATION /etc/mangrove COMPONENT service EXCLUDE_FROM_ALL)
install(FILES ${deploy}/debian/copyright ${packaged}/changelog.gz
  DESTINATION /usr/share/doc/mangrove COMPONENT documents EXCLUDE_FROM_ALL)
install(FILES ${deploy}/debian/copyright ${packaged}/changelog.gz
  DESTINATION /usr/share/doc/mangrove-sim COMPONENT simulator_documents EXCLUDE_FROM_ALL)

set(CPACK_GENERATOR DEB)
set(CPACK_SET_DESTDIR ON)  # for the fixed paths
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE
  WORLD_READ WORLD_EXECUTE)  # whatever the umask of who builds
set(CPACK_PACKAGE_NAME mangrove)
set(CPACK_PACKAGE_VENDOR "The Mangrove authors")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "deep learning across end devices, edge servers and the cloud")
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL program simulator service documents simulator_documents)
set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "${MANGROVE_MAINTAINER}")
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
if(CMAKE_CROSSCOMPILING)  # cmake/arm64.cmake; scripts/arm64-sysroot.sh has put there what dpkg-shlibdeps reads
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE arm64)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS
    ${CMAKE_SYSROOT}/lib/aarch64-linux-gnu ${CMAKE_SYSROOT}/usr/lib/aarch64-linux-gnu)
endif()

set(CPACK_DEBIAN_MAIN_PACKAGE_NAME mangrove)
set(CPACK_DEBIAN_MAIN_PACKAGE_DEPENDS adduser)
set(CPACK_DEBIAN_MAIN_PACKAGE_RECOMMENDS "avahi-daemon, ca-certificates")
set(CPACK_DEBIAN_MAIN_PACKAGE_SUGGESTS mangrove-sim)
set(CPACK_DEBIAN_MAIN_PACKAGE_CONTROL_EXTRA ${deploy}/debian/postinst ${deploy}/debian/prerm ${deploy}/debian/postrm
  ${deploy}/debian/conffiles)
set(CPACK_DEBIAN_SIM_PACKAGE_NAME mangrove-sim)
set(CPACK_DEBIAN_SIM_PACKAGE_DEPENDS "mangrove (= ${PROJECT_VERSION})")

set(CPACK_DEBIAN_MAIN_DESCRIPTION
"Mangrove trains neural networks on clusters of small computers, and cuts them
into stages that several computers compute together. This package has the
program, and services for a coordinator and for nodes.")
set(CPACK_DEBIAN_SIM_DESCRIPTION
"Mangrove trains neural networks on clusters of small computers. This package
has the command mangrove sim, which runs jobs on virtual devices in virtual
time.")

include(CPack)
foreach(component program service documents)
  cpack_add_component(${component} GROUP main)
endforeach()
foreach(component simulator simulator_documents)
  cpack_add_component(${component} GROUP sim)
endforeach()
