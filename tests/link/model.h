/* One model of a program that runs several. Included once a model, where NAMED and SIZED put a rest behind its name in small and
   in capital letters, and where these stand:
     WEIGHTS                                       if its weights are a file: their size */

#ifndef RUNNER_CONFIG
#define RUNNER_CONFIG
static modelc_config runner_config(void)
{
  modelc_config config;
  memset(&config, 0, sizeof config);
  config.struct_size = sizeof config;
  config.user = &runner_threads;
  config.cpu_features = runner_features;
  if (*runner_threads >= '0' && *runner_threads <= '9') {
    config.threads = (uint32_t)strtoul(runner_threads, NULL, 10);
    config.parallel_for = config.threads ? on_threads : backwards;
  }
  return config;
}
#endif

/* Initializes the model. Its weights come first in the file, if they are a file. */
static unsigned char *NAMED(_start)(FILE *inputs)
{
  unsigned char *arena = guarded(SIZED(_ARENA_BYTES), SIZED(_ARENA_ALIGN));
  modelc_config config = runner_config();
  (void)inputs;
  memset(arena, 0xee, SIZED(_ARENA_BYTES));
#ifdef WEIGHTS
  {
    unsigned char *weights = guarded(WEIGHTS, SIZED(_ARENA_ALIGN));
    CHECK(fread(weights, 1, WEIGHTS, inputs) == WEIGHTS);
    config.weights = weights;
    config.weights_bytes = WEIGHTS;
  }
#endif
#ifdef HAS_PAINTED_STACK
  /* On these machines an integer is passed as a pointer is. */
  EQUAL(call_painted(SIZED(_STACK_BYTES), (void (*)(void))NAMED(_init), arena, (const void *)(uintptr_t)SIZED(_ARENA_BYTES), &config), MODELC_OK);
#else
  EQUAL(NAMED(_init)(arena, SIZED(_ARENA_BYTES), &config), MODELC_OK);
#endif
  return arena;
}
