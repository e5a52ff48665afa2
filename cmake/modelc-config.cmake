# find_package(modelc): the compiler as the program modelc::compiler, and the function modelc_add_model.
#
# The compiler is MODELC_EXECUTABLE if it is set. Otherwise it is the one installed or built beside this file, or the one on PATH.
# In a checkout, -Dmodelc_DIR=CHECKOUT/cmake is enough: nothing needs to be installed.

cmake_minimum_required(VERSION 3.20)

# bin/ beside lib/cmake/modelc/, and the release build of a checkout. A toolchain file may restrict programs to the target's root.
find_program(MODELC_EXECUTABLE modelc
  HINTS ${CMAKE_CURRENT_LIST_DIR}/../../../bin ${CMAKE_CURRENT_LIST_DIR}/../target/release
  NO_CMAKE_FIND_ROOT_PATH
  DOC "The modelc compiler")

if(TARGET modelc::compiler)
  set(modelc_FOUND TRUE)
elseif(MODELC_EXECUTABLE)
  add_executable(modelc::compiler IMPORTED GLOBAL)
  set_target_properties(modelc::compiler PROPERTIES IMPORTED_LOCATION ${MODELC_EXECUTABLE})
  set(modelc_FOUND TRUE)
else()
  set(modelc_FOUND FALSE)
  set(modelc_NOT_FOUND_MESSAGE
    "There is no program modelc on PATH or beside ${CMAKE_CURRENT_LIST_DIR}. Set MODELC_EXECUTABLE to its path, or build it with `cargo build --release`.")
endif()

include(${CMAKE_CURRENT_LIST_DIR}/ModelcTarget.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/ModelcAddModel.cmake)
