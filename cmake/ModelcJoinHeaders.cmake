# cmake -DOUT=net.h "-DMACHINES=a;b" -DNAME=net.h -P ModelcJoinHeaders.cmake, in the folder that has a folder for each machine:
# writes one header that holds the header of each machine, since sizes differ. The compiler's own macros choose.

foreach(machine IN LISTS MACHINES)
  file(READ ${machine}/${NAME} header)
  string(REGEX MATCH "^[^-]+" architecture ${machine})
  string(APPEND text "#ifdef __${architecture}__\n" "${header}" "#endif\n")
endforeach()
file(WRITE ${OUT} "${text}")
