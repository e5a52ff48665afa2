# modelc_add_model(TARGET MODEL [NAME name] [SHARED] [TEST] [INPUTS in.npz [EXPECTED out.npz]] [DATA w.ptd] [OPTIONS option...])
#
# Adds the library TARGET, which holds the compiled model. A program that links it includes NAME.h.
#   MODEL     a .tflite, .pte or .bpte file, relative to the current source folder
#   NAME      prefix of the C names and name of the header; TARGET if not given
#   SHARED    a shared library; static if not given
#   TEST      the program TARGET_test and the CTest test TARGET: they compare the model's outputs with expected ones
#   INPUTS, EXPECTED    arrays for the test; without them, a bundled program's cases, or random inputs and the interpreter's outputs
#   DATA      tensor file of an ExecuTorch program
#   OPTIONS   options of modelc; file names in them are absolute
# ModelcTarget.cmake says how the machine is chosen. The model is compiled again when a file that modelc read changes, or modelc itself.
# `install(TARGETS TARGET EXPORT ... PUBLIC_HEADER DESTINATION include)` installs the library with its header.

set(_modelc_folder ${CMAKE_CURRENT_LIST_DIR} CACHE INTERNAL "The folder of the CMake package modelc")

function(modelc_add_model target model)
  set(files INPUTS EXPECTED DATA)
  cmake_parse_arguments(PARSE_ARGV 2 arg "SHARED;TEST" "NAME;${files}" "OPTIONS")
  if(arg_UNPARSED_ARGUMENTS OR arg_KEYWORDS_MISSING_VALUES)
    message(FATAL_ERROR "modelc_add_model(${target}): not understood: ${arg_UNPARSED_ARGUMENTS} ${arg_KEYWORDS_MISSING_VALUES}")
  endif()
  if(NOT arg_NAME)
    set(arg_NAME ${target})
  endif()
  get_filename_component(model ${model} ABSOLUTE)
  foreach(file IN LISTS files)
    if(arg_${file})
      get_filename_component(path ${arg_${file}} ABSOLUTE)
      string(TOLOWER ${file} option)
      list(APPEND arg_OPTIONS --${option} ${path})
    endif()
  endforeach()
  # A folder for each library, so that two models may have one name in two programs.
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/modelc/${target})
  if(arg_TEST)
    set(test ${folder}/${arg_NAME}_test.c)
  endif()
  _modelc_compile(${model} ${arg_NAME} ${folder} "${test}" "${arg_OPTIONS}")
  _modelc_library(${target} ${arg_NAME} ${folder} ${arg_SHARED})
  if(arg_TEST)
    _modelc_test(${target} ${test})
  endif()
endfunction()

# The rules that make FOLDER/NAME.o and FOLDER/NAME.h, for one machine or for several.
function(_modelc_compile model name folder test options)
  modelc_target(machines)
  list(LENGTH machines count)
  if(count EQUAL 1)
    _modelc_compile_for(${machines} ${model} ${name} ${folder} "${test}" "${options}")
    return()
  endif()
  foreach(machine IN LISTS machines)
    _modelc_compile_for(${machine} ${model} ${name} ${folder}/${machine} "${test}" "${options}")
    # The first machine writes the test, which is the same for all.
    set(test "")
    list(APPEND objects ${folder}/${machine}/${name}.o)
  endforeach()
  find_program(MODELC_LIPO NAMES lipo llvm-lipo REQUIRED NO_CMAKE_FIND_ROOT_PATH DOC "Joins objects of several architectures")
  add_custom_command(
    OUTPUT ${folder}/${name}.o
    BYPRODUCTS ${folder}/${name}.h
    COMMAND ${MODELC_LIPO} -create -output ${folder}/${name}.o ${objects}
    COMMAND ${CMAKE_COMMAND} -DOUT=${name}.h "-DMACHINES=${machines}" -DNAME=${name}.h -P ${_modelc_folder}/ModelcJoinHeaders.cmake
    DEPENDS ${objects}
    WORKING_DIRECTORY ${folder}
    VERBATIM)
endfunction()

# The rule that makes the object and the header for one machine.
function(_modelc_compile_for machine model name folder test options)
  set(object ${folder}/${name}.o)
  file(MAKE_DIRECTORY ${folder})
  if(test)
    list(APPEND options --emit test=${test})
  endif()
  if(NOT CMAKE_VERBOSE_MAKEFILE)
    list(APPEND options --quiet)
  endif()
  get_filename_component(file ${model} NAME)
  add_custom_command(
    OUTPUT ${object}
    BYPRODUCTS ${folder}/${name}.h ${test}
    COMMAND modelc::compiler ${model} -o ${object} --name ${name} --target ${machine} --depfile ${object}.d ${options}
    DEPENDS ${model} $<TARGET_FILE:modelc::compiler>
    DEPFILE ${object}.d
    COMMENT "Compiling model ${file}"
    VERBATIM)
endfunction()

# The library of an object and its header.
function(_modelc_library target name folder shared)
  set(kind STATIC)
  if(shared)
    set(kind SHARED)
  endif()
  set(object ${folder}/${name}.o)
  # A target of its own: Make runs a rule once for each target that lists its outputs.
  add_custom_target(${target}_object DEPENDS ${object})
  add_library(${target} ${kind} ${object})
  add_dependencies(${target} ${target}_object)
  set_source_files_properties(${object} PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
  _modelc_language(${target} language)
  set_target_properties(${target} PROPERTIES
    LINKER_LANGUAGE ${language}
    WINDOWS_EXPORT_ALL_SYMBOLS TRUE
    PUBLIC_HEADER ${folder}/${name}.h)
  # GNUInstallDirs, where the project includes it, says where headers go.
  set(include include)
  if(CMAKE_INSTALL_INCLUDEDIR)
    set(include ${CMAKE_INSTALL_INCLUDEDIR})
  endif()
  target_include_directories(${target} INTERFACE $<BUILD_INTERFACE:${folder}> $<INSTALL_INTERFACE:${include}>)
  # A model with a part for a GPU opens Vulkan by dlopen.
  target_link_libraries(${target} PUBLIC ${CMAKE_DL_LIBS})
endfunction()

# The language whose tools link a library without sources.
function(_modelc_language target out)
  get_property(enabled GLOBAL PROPERTY ENABLED_LANGUAGES)
  foreach(language C CXX)
    if(language IN_LIST enabled)
      set(${out} ${language} PARENT_SCOPE)
      return()
    endif()
  endforeach()
  message(FATAL_ERROR "modelc_add_model(${target}): the project needs the language C or CXX: project(${PROJECT_NAME} C)")
endfunction()

# The program that compares the model's outputs with expected ones.
function(_modelc_test target source)
  get_property(enabled GLOBAL PROPERTY ENABLED_LANGUAGES)
  if(NOT C IN_LIST enabled)
    message(FATAL_ERROR "modelc_add_model(${target} TEST): the test is a C program; the project needs the language C")
  endif()
  add_executable(${target}_test ${source})
  set_source_files_properties(${source} PROPERTIES GENERATED TRUE)
  add_dependencies(${target}_test ${target}_object)
  set_target_properties(${target}_test PROPERTIES C_STANDARD 99)
  target_compile_definitions(${target}_test PRIVATE modelc_puts=puts)
  target_link_libraries(${target}_test PRIVATE ${target})
  # CTest runs it under CMAKE_CROSSCOMPILING_EMULATOR where that is set.
  add_test(NAME ${target} COMMAND ${target}_test)
endfunction()
