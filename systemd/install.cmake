# SPDX-License-Identifier: Apache-2.0
# Run by `cmake --install`, with the variables that CMakeLists.txt names and CMAKE_INSTALL_PREFIX, which --prefix may have
# changed. Nothing is written outside of the prefix, but for /etc when the prefix is /usr; DESTDIR goes before all.

# absolute(DIRECTORY): MORPH_DIRECTORY is CMAKE_INSTALL_DIRECTORY under this prefix
macro(absolute directory)
	set(MORPH_${directory} ${CMAKE_INSTALL_${directory}})
	if(NOT IS_ABSOLUTE "${MORPH_${directory}}")
		set(MORPH_${directory} ${CMAKE_INSTALL_PREFIX}/${MORPH_${directory}})
	endif()
endmacro()

# make(FILE NAME DIRECTORY): from FILE with @MORPH_...@ in it
macro(make file name directory)
	configure_file(${file} ${CMAKE_CURRENT_BINARY_DIR}/installed/${name} @ONLY)
	file(INSTALL ${CMAKE_CURRENT_BINARY_DIR}/installed/${name} DESTINATION ${CMAKE_INSTALL_PREFIX}/${directory})
endmacro()

absolute(BINDIR)
absolute(SBINDIR)
absolute(LIBEXECDIR)
absolute(SYSCONFDIR)
if(CMAKE_INSTALL_PREFIX STREQUAL "/usr" AND NOT IS_ABSOLUTE "${CMAKE_INSTALL_SYSCONFDIR}")
	set(MORPH_SYSCONFDIR /${CMAKE_INSTALL_SYSCONFDIR})
endif()

foreach(template ${templates})
	string(REGEX REPLACE ".*/(.*)\\.in$" "\\1" name ${template})
	if(name MATCHES "^org\\.")
		make(${template} ${name} ${CMAKE_INSTALL_DATADIR}/dbus-1/system-services)
	elseif(name MATCHES "-user\\.")
		string(REPLACE "-user." "." name ${name})
		make(${template} ${name} ${MORPH_SYSTEMD_DIR}/user)
	else()
		make(${template} ${name} ${MORPH_SYSTEMD_DIR}/system)
	endif()
endforeach()
foreach(file ${tmpfiles})
	string(REGEX REPLACE ".*/(.*)\\.tmpfiles$" "\\1.conf" name ${file})
	file(INSTALL ${file} DESTINATION ${CMAKE_INSTALL_PREFIX}/${MORPH_TMPFILES_DIR} RENAME ${name})
endforeach()
foreach(file ${sysusers})
	string(REGEX REPLACE ".*/(.*)\\.sysusers$" "\\1.conf" name ${file})
	file(INSTALL ${file} DESTINATION ${CMAKE_INSTALL_PREFIX}/${MORPH_SYSUSERS_DIR} RENAME ${name})
endforeach()
file(INSTALL ${CMAKE_CURRENT_SOURCE_DIR}/morphd.conf DESTINATION ${MORPH_SYSCONFDIR}/morph)
file(INSTALL DESTINATION ${MORPH_SYSCONFDIR}/morph/morphd.conf.d TYPE DIRECTORY FILES "")

# What dpkg runs before and after it replaces files (morph-mount(8)).
configure_file(${CMAKE_CURRENT_SOURCE_DIR}/dpkg.cfg.in ${CMAKE_CURRENT_BINARY_DIR}/installed/morph @ONLY)
file(INSTALL ${CMAKE_CURRENT_BINARY_DIR}/installed/morph DESTINATION ${MORPH_SYSCONFDIR}/dpkg/dpkg.cfg.d)

# What needrestart(1) is told of programs that Morph has changed.
configure_file(${CMAKE_CURRENT_SOURCE_DIR}/needrestart.conf.in ${CMAKE_CURRENT_BINARY_DIR}/installed/needrestart.conf @ONLY)
file(INSTALL ${CMAKE_CURRENT_BINARY_DIR}/installed/needrestart.conf DESTINATION ${MORPH_SYSCONFDIR}/needrestart/conf.d RENAME morph.conf)
