# modelc_add_model(TARGET MODEL file [NAME name] [TRIPLE triple] [OPTIONS option...])
#
# Makes the library TARGET of a model. What links it gets the object, and can include NAME.h.
#   MODEL    the .tflite or .pte file, relative to the current source folder
#   NAME     what the C names and the header start with; TARGET if not given
#   TRIPLE   the machine to compile for; MODELC_TRIPLE if not given, this machine if that is empty too
#   OPTIONS  handed to modelc as they are
#
# The model is compiled again when the file, anything else modelc read, or modelc itself changes. Needs CMake 3.20, for DEPFILE.

cmake_minimum_required(VERSION 3.20)

find_program(MODELC_EXECUTABLE modelc REQUIRED DOC "The modelc compiler")
set(MODELC_TRIPLE "" CACHE STRING "The machine that models are compiled for; empty: this one")

function(modelc_add_model target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "MODEL;NAME;TRIPLE" "OPTIONS")
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_MODEL)
    message(FATAL_ERROR "modelc_add_model(TARGET MODEL file [NAME name] [TRIPLE triple] [OPTIONS option...])")
  endif()
  if(NOT arg_NAME)
    set(arg_NAME ${target})
  endif()
  if(NOT arg_TRIPLE)
    set(arg_TRIPLE ${MODELC_TRIPLE})
  endif()
  if(arg_TRIPLE)
    list(PREPEND arg_OPTIONS --target ${arg_TRIPLE})
  endif()
  get_filename_component(model ${arg_MODEL} ABSOLUTE)

  # A folder for every target, so that two models may share a name in two programs.
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/modelc/${target})
  set(object ${folder}/${arg_NAME}.o)
  set(header ${folder}/${arg_NAME}.h)
  file(MAKE_DIRECTORY ${folder})
  add_custom_command(
    OUTPUT ${object}
    BYPRODUCTS ${header}
    COMMAND ${MODELC_EXECUTABLE} ${model} -o ${object} --name ${arg_NAME} --depfile ${object}.d ${arg_OPTIONS}
    DEPENDS ${model} ${MODELC_EXECUTABLE}
    DEPFILE ${object}.d
    COMMENT "Compiling the model ${arg_MODEL}"
    VERBATIM)
  add_custom_target(${target}_object DEPENDS ${object})

  add_library(${target} INTERFACE)
  add_dependencies(${target} ${target}_object)
  target_include_directories(${target} INTERFACE ${folder})
  target_link_libraries(${target} INTERFACE ${object})
endfunction()
