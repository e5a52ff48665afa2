# modelc_target(OUT): the targets of modelc for the machine that this project is compiled for.
#
# OUT is one target, or one for each of CMAKE_OSX_ARCHITECTURES. What says the machine, in this order:
#   MODELC_TARGET                                   a target, core or board; `modelc targets` lists them
#   CMAKE_OSX_ARCHITECTURES                         on Apple systems
#   ANDROID_ABI, CMAKE_ANDROID_ARCH_ABI             on Android
#   CMAKE_C_COMPILER_TARGET, CMAKE_CXX_COMPILER_TARGET    the triple given to clang
#   CMAKE_SYSTEM_NAME and CMAKE_SYSTEM_PROCESSOR    everywhere else
# A machine that these do not tell, or that modelc has no code for, ends the configuration. The message names the variable.

set(MODELC_TARGET "" CACHE STRING "Target of compiled models; empty: the machine that CMake compiles for")

function(modelc_target out)
  if(MODELC_TARGET)
    set(targets ${MODELC_TARGET})
  elseif(APPLE AND CMAKE_OSX_ARCHITECTURES)
    _modelc_apple(targets)
  elseif(ANDROID)
    _modelc_android(targets)
  elseif(CMAKE_C_COMPILER_TARGET)
    set(targets ${CMAKE_C_COMPILER_TARGET})
  elseif(CMAKE_CXX_COMPILER_TARGET)
    set(targets ${CMAKE_CXX_COMPILER_TARGET})
  else()
    _modelc_system(targets)
  endif()
  set(${out} ${targets} PARENT_SCOPE)
endfunction()

# The architecture that a variable names, in modelc's spelling.
function(_modelc_architecture out variable)
  string(TOLOWER "${${variable}}" name)
  if(name MATCHES "^(x86_64|amd64|x64)$")
    set(${out} x86_64 PARENT_SCOPE)
  elseif(name MATCHES "^(aarch64|arm64|arm64e|arm64-v8a|armv8-a|armv8a)$")
    set(${out} aarch64 PARENT_SCOPE)
  elseif(name MATCHES "^riscv64")
    set(${out} riscv64 PARENT_SCOPE)
  elseif(name STREQUAL "")
    message(FATAL_ERROR "modelc: ${variable} is empty, so the processor is unknown. Set it in the toolchain file, or set MODELC_TARGET.")
  else()
    message(FATAL_ERROR "modelc: ${variable} is `${${variable}}`, which modelc has no code for. "
      "`modelc targets` lists the targets; MODELC_TARGET names one.")
  endif()
endfunction()

function(_modelc_apple out)
  if(CMAKE_OSX_SYSROOT MATCHES "[Ss]imulator")
    message(FATAL_ERROR "modelc: CMAKE_OSX_SYSROOT is a simulator's, which modelc has no objects for.")
  endif()
  _modelc_system_name(system)
  foreach(architecture IN LISTS CMAKE_OSX_ARCHITECTURES)
    set(CMAKE_OSX_ARCHITECTURES ${architecture})
    _modelc_architecture(machine CMAKE_OSX_ARCHITECTURES)
    list(APPEND targets ${machine}-${system})
  endforeach()
  set(${out} ${targets} PARENT_SCOPE)
endfunction()

function(_modelc_android out)
  set(variable ANDROID_ABI)
  if(NOT ANDROID_ABI AND CMAKE_ANDROID_ARCH_ABI)
    set(variable CMAKE_ANDROID_ARCH_ABI)
  endif()
  _modelc_architecture(machine ${variable})
  set(${out} ${machine}-linux-android PARENT_SCOPE)
endfunction()

# The rest of a triple. Systems whose objects are ELF take those of Linux: the objects call nothing of the system.
function(_modelc_system_name out)
  if(CMAKE_SYSTEM_NAME MATCHES "^(Linux|FreeBSD|NetBSD|OpenBSD|DragonFly|SunOS|Haiku|QNX|Fuchsia|kFreeBSD|GNU)$")
    set(system linux-gnu)
  elseif(CMAKE_SYSTEM_NAME STREQUAL "Darwin")
    set(system apple-darwin)
  elseif(CMAKE_SYSTEM_NAME STREQUAL "iOS")
    set(system apple-ios)
  elseif(CMAKE_SYSTEM_NAME MATCHES "^(Windows|WindowsStore|MSYS|CYGWIN)$")
    set(system pc-windows-msvc)
  elseif(CMAKE_SYSTEM_NAME MATCHES "^Generic")
    set(system none-elf)
  else()
    message(FATAL_ERROR "modelc: CMAKE_SYSTEM_NAME is `${CMAKE_SYSTEM_NAME}`, a system that modelc does not know. "
      "`modelc targets` lists the targets; MODELC_TARGET names one.")
  endif()
  set(${out} ${system} PARENT_SCOPE)
endfunction()

function(_modelc_system out)
  _modelc_system_name(system)
  set(variable CMAKE_SYSTEM_PROCESSOR)
  foreach(language C CXX)
    # Visual Studio compiles for another processor than CMAKE_SYSTEM_PROCESSOR where -A says so.
    if(MSVC AND CMAKE_${language}_COMPILER_ARCHITECTURE_ID)
      set(variable CMAKE_${language}_COMPILER_ARCHITECTURE_ID)
      break()
    endif()
    # A toolchain file may leave the processor out. GCC then still names its libraries' folder after the machine.
    if(NOT CMAKE_SYSTEM_PROCESSOR AND CMAKE_${language}_LIBRARY_ARCHITECTURE)
      set(${out} ${CMAKE_${language}_LIBRARY_ARCHITECTURE} PARENT_SCOPE)
      return()
    endif()
  endforeach()
  _modelc_architecture(machine ${variable})
  if(CMAKE_SIZEOF_VOID_P EQUAL 4)
    message(FATAL_ERROR "modelc: ${variable} is `${${variable}}`, but CMAKE_SIZEOF_VOID_P is 4: the compiler makes 32-bit code. Set MODELC_TARGET.")
  endif()
  set(${out} ${machine}-${system} PARENT_SCOPE)
endfunction()
