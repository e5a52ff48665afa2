/* The plain names, found in a shared library as a scripting language would. */
#define _POSIX_C_SOURCE 200809L
#include "check.h"
#include <dlfcn.h>

int main(int argc, char **argv)
{
  void *library = dlopen(argc > 1 ? argv[1] : "", RTLD_NOW);
  CHECK(library != NULL);
  CHECK(dlsym(library, "net_init") != NULL);
  CHECK(dlsym(library, "net_forward_split") != NULL);
  CHECK(dlsym(library, "net_info") != NULL);
  CHECK(dlsym(library, "net_op0_add") == NULL);
  return 0;
}
