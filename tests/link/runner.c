/* Runs models, each on all its inputs in a file, and writes the outputs to another. models.h comes from the test, which knows the
   models; RUN_ALL in it runs them one by one. Behind the two files: what the CPU has, or 0; and on how many threads kernels run in ranges,
   where 0 is the tasks one by one, the last first, and no number the whole kernels. */
#define _POSIX_C_SOURCE 200112L
#define _DEFAULT_SOURCE
#include "check.h"
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "guarded.h"
#include "painted.h"
#include "runner.h"
#include "models.h"

int main(int argc, char **argv)
{
  FILE *inputs, *outputs;
  CHECK(argc == 5);
  runner_features = strtoull(argv[3], NULL, 10);
  runner_threads = argv[4];
  inputs = fopen(argv[1], "rb");
  outputs = fopen(argv[2], "wb");
  CHECK(inputs && outputs);
  RUN_ALL(inputs, outputs);
  EQUAL(fgetc(inputs), EOF);
  EQUAL(fclose(outputs), 0);
  return 0;
}
