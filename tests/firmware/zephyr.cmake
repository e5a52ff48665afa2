# Runs the CMakeLists.txt of an exported module as Zephyr's build does, and prints its variant. `cmake -DMODULE=FOLDER -DCONFIG=.config -P`

# Zephyr's build has the options of Kconfig as variables.
file(STRINGS "${CONFIG}" options REGEX "^CONFIG_[A-Z0-9_]+=y$")
foreach(option IN LISTS options)
  string(REPLACE "=y" "" option "${option}")
  set(${option} y)
endforeach()

function(zephyr_include_directories folder)
  file(GLOB headers "${CMAKE_CURRENT_LIST_DIR}/${folder}/*.h")
  if(NOT headers)
    message(FATAL_ERROR "no header in ${folder}")
  endif()
endfunction()

function(zephyr_library_import name path)
  if(NOT EXISTS "${path}")
    message(FATAL_ERROR "no library ${path}")
  endif()
  get_filename_component(folder "${path}" DIRECTORY)
  get_filename_component(variant "${folder}" NAME)
  message(STATUS "variant ${variant}")
endfunction()

include("${MODULE}/CMakeLists.txt")
