# The version of the package, which is the compiler's. Before 1.0, versions with one minor number are compatible.

set(PACKAGE_VERSION 0.1.0)

set(PACKAGE_VERSION_EXACT FALSE)
set(PACKAGE_VERSION_COMPATIBLE FALSE)
if(PACKAGE_FIND_VERSION VERSION_EQUAL PACKAGE_VERSION)
  set(PACKAGE_VERSION_EXACT TRUE)
endif()
if(PACKAGE_FIND_VERSION VERSION_LESS_EQUAL PACKAGE_VERSION)
  string(REGEX MATCH "^[0-9]+\\.[0-9]+" modelc_line ${PACKAGE_VERSION})
  if(PACKAGE_FIND_VERSION VERSION_GREATER_EQUAL modelc_line)
    set(PACKAGE_VERSION_COMPATIBLE TRUE)
  endif()
  unset(modelc_line)
endif()
