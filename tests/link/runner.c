/* Runs models, each on all its inputs in a file, and writes the outputs to another. models.h comes from the test, which knows the
   models; RUN_ALL in it runs them one by one. */
#include "check.h"
#include <stdint.h>
#include <string.h>
#include "models.h"

int main(int argc, char **argv)
{
  FILE *inputs, *outputs;
  CHECK(argc == 3);
  inputs = fopen(argv[1], "rb");
  outputs = fopen(argv[2], "wb");
  CHECK(inputs && outputs);
  RUN_ALL(inputs, outputs);
  EQUAL(fgetc(inputs), EOF);
  EQUAL(fclose(outputs), 0);
  return 0;
}
