/* One model of a program that runs several. Included once a model, where NAMED and SIZED put a rest behind its name in small and
   in capital letters, and where these stand:
     NAMED(_allocate), NAMED(_read), NAMED(_prepare), NAMED(_write)  its buffers, which the test knows
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

/* A call among so many live numbers that they stand in every register that a callee has to keep. */
static int NAMED(_call)(void *arena, const NAMED(_forward_inputs) *in, NAMED(_forward_outputs) *out)
{
  static volatile double reals[12] = { 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5, 9.5, 10.5, 11.5, 12.5 };
  static volatile long numbers[10] = { 11, 12, 13, 14, 15, 16, 17, 18, 19, 20 };
  double a = reals[0], b = reals[1], c = reals[2], d = reals[3], e = reals[4], f = reals[5];
  double g = reals[6], h = reals[7], i = reals[8], j = reals[9], k = reals[10], l = reals[11];
  long m = numbers[0], n = numbers[1], o = numbers[2], p = numbers[3], q = numbers[4];
  long r = numbers[5], s = numbers[6], t = numbers[7], u = numbers[8], v = numbers[9];
  int status = NAMED(_forward)(arena, in, out);
  CHECK(a == reals[0] && b == reals[1] && c == reals[2] && d == reals[3] && e == reals[4] && f == reals[5]);
  CHECK(g == reals[6] && h == reals[7] && i == reals[8] && j == reals[9] && k == reals[10] && l == reals[11]);
  CHECK(m == numbers[0] && n == numbers[1] && o == numbers[2] && p == numbers[3] && q == numbers[4]);
  CHECK(r == numbers[5] && s == numbers[6] && t == numbers[7] && u == numbers[8] && v == numbers[9]);
  return status;
}

/* Runs the model on the inputs of every call, one behind the other. */
static void NAMED(_run)(FILE *inputs, FILE *outputs, unsigned calls)
{
  unsigned char *arena = guarded(SIZED(_ARENA_BYTES), SIZED(_ARENA_ALIGN));
  modelc_config config = runner_config();
  NAMED(_forward_inputs) in;
  NAMED(_forward_outputs) out;
  memset(arena, 0xee, SIZED(_ARENA_BYTES));
#ifdef WEIGHTS
  {
    unsigned char *weights = guarded(WEIGHTS, SIZED(_ARENA_ALIGN));
    CHECK(fread(weights, 1, WEIGHTS, inputs) == WEIGHTS);
    config.weights = weights;
    config.weights_bytes = WEIGHTS;
  }
#endif
  NAMED(_allocate)();
  EQUAL(NAMED(_init)(arena, SIZED(_ARENA_BYTES), &config), MODELC_OK);
  for (; calls > 0; calls--) {
    NAMED(_read)(inputs, &in);
    NAMED(_prepare)(&out);
    EQUAL(NAMED(_call)(arena, &in, &out), MODELC_OK);
    NAMED(_write)(outputs, &out);
  }
}
