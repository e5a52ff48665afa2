# Made by modelc @MODELC@. Do not edit. What modelc writes is yours, without conditions.
# For find_package: defines the target @NAME@::@NAME@, the compiled model with its header @NAME@.h.
#   @NAME@_VARIANT   one of: @VARIANTS@; needed if the target system does not tell which

if(TARGET @NAME@::@NAME@)
  return()
endif()
cmake_minimum_required(VERSION 3.16)

set(@NAME@_VARIANTS @VARIANTS@)
list(LENGTH @NAME@_VARIANTS @NAME@_count)
if(NOT @NAME@_VARIANT AND @NAME@_count EQUAL 1)
  set(@NAME@_VARIANT ${@NAME@_VARIANTS})
endif()
@each@
if(NOT @NAME@_VARIANT AND @CONDITION@)
  set(@NAME@_VARIANT @VARIANT@)
endif()
if(@NAME@_VARIANT STREQUAL "@VARIANT@")
  set(@NAME@_library @LIBRARY@)
endif()
@end@
if(NOT @NAME@_library)
  message(FATAL_ERROR "@NAME@_VARIANT is \"${@NAME@_VARIANT}\"; set it to one of: ${@NAME@_VARIANTS}")
endif()

# The weights file, if weights are external.
set(@NAME@_WEIGHTS "${CMAKE_CURRENT_LIST_DIR}/lib/${@NAME@_VARIANT}/@NAME@.bin")
if(NOT EXISTS "${@NAME@_WEIGHTS}")
  unset(@NAME@_WEIGHTS)
endif()

add_library(@NAME@::@NAME@ STATIC IMPORTED GLOBAL)
# A model with a part for a GPU opens Vulkan by dlopen. Systems without a name of their own have none.
set(@NAME@_libraries "${CMAKE_DL_LIBS}")
if(CMAKE_SYSTEM_NAME STREQUAL "Generic")
  set(@NAME@_libraries "")
endif()
set_target_properties(@NAME@::@NAME@ PROPERTIES
  IMPORTED_LOCATION "${CMAKE_CURRENT_LIST_DIR}/lib/${@NAME@_VARIANT}/${@NAME@_library}"
  INTERFACE_INCLUDE_DIRECTORIES "${CMAKE_CURRENT_LIST_DIR}/include/${@NAME@_VARIANT}"
  INTERFACE_LINK_LIBRARIES "${@NAME@_libraries}")
