
/* Calls that are measured, after one that is not. */
#ifndef MODELC_BENCH_RUNS
#define MODELC_BENCH_RUNS 10
#endif

static void modelc_bench_ticks(uint32_t ticks, const char *rest)
{
  modelc_test_number(ticks);
  modelc_test_text(" ticks");
  modelc_test_text(rest);
}

#ifdef MODELC_BENCH_KERNELS
/* Ticks of a kernel: in this call, the least of all calls, and the most at one time. */
typedef struct modelc_bench_kernel {
  uint32_t now, least, longest;
} modelc_bench_kernel;

static modelc_bench_kernel modelc_bench_kernels[MODELC_BENCH_KERNELS];
static uint32_t modelc_bench_start;

static int modelc_bench_on_kernel(void *user, uint32_t number, uint32_t phase)
{
  uint32_t ticks = modelc_ticks() - modelc_bench_start;
  (void)user;
  if (number < MODELC_BENCH_KERNELS && phase) {
    modelc_bench_kernel *kernel = &modelc_bench_kernels[number];
    kernel->now += ticks;
    if (ticks > kernel->longest) kernel->longest = ticks;
  }
  if (!phase) modelc_bench_start = modelc_ticks();
  return 0;
}

/* Before the first call of a kind, or before the first that is measured. */
static void modelc_bench_forget(void)
{
  uint32_t number;
  for (number = 0; number < MODELC_BENCH_KERNELS; number++) {
    modelc_bench_kernels[number].now = modelc_bench_kernels[number].longest = 0;
    modelc_bench_kernels[number].least = UINT32_MAX;
  }
}

/* After each call. */
static void modelc_bench_keep(void)
{
  uint32_t number;
  for (number = 0; number < MODELC_BENCH_KERNELS; number++) {
    modelc_bench_kernel *kernel = &modelc_bench_kernels[number];
    if (kernel->now < kernel->least) kernel->least = kernel->now;
    kernel->now = 0;
  }
}

static void modelc_bench_table(void)
{
  uint32_t number, longest = 0;
  uint64_t all = 0;
  for (number = 0; number < MODELC_BENCH_KERNELS; number++) {
    all += modelc_bench_kernels[number].least;
    if (modelc_bench_kernels[number].longest > modelc_bench_kernels[longest].longest) longest = number;
  }
  for (number = 0; number < MODELC_BENCH_KERNELS; number++) {
    const modelc_bench_kernel *kernel = &modelc_bench_kernels[number];
    uint32_t share = all ? (uint32_t)(kernel->least * (uint64_t)1000 / all) : 0;
    if (!kernel->longest) continue;
    modelc_test_text("  ");
    modelc_test_text(MODELC_BENCH_NAMES[number]);
    modelc_test_text(": ");
    modelc_bench_ticks(kernel->least, ", ");
    modelc_test_number(share / 10);
    modelc_test_text(".");
    modelc_test_number(share % 10);
    modelc_test_text(" %");
    modelc_test_end_line();
  }
  modelc_test_text("  longest kernel: ");
  modelc_test_text(MODELC_BENCH_NAMES[longest]);
  modelc_test_text(", ");
  modelc_bench_ticks(modelc_bench_kernels[longest].longest, " at most");
  modelc_test_end_line();
}
#else
#define modelc_bench_forget() (void)0
#define modelc_bench_keep() (void)0
#define modelc_bench_table() (void)0
#endif

/* Each call several times, on an instance that is made for them. */
static int modelc_bench_run(const modelc_test_call *calls, uint32_t count)
{
  uint32_t number, run;
  (void)modelc_test_words; (void)modelc_test_extents; (void)modelc_test_room;
  for (number = 0; number < count; number++) {
    const modelc_test_call *call = &calls[number];
    uint32_t least = UINT32_MAX, most = 0;
    for (run = 0; run <= MODELC_BENCH_RUNS; run++) {
      uint32_t start, ticks;
      int status;
      if (run < 2) modelc_bench_forget();
      start = modelc_ticks();
      status = call->call(call->inputs, modelc_test_outputs);
      ticks = modelc_ticks() - start;
      if (!modelc_test_done(call->name, status)) return 1;
      modelc_bench_keep();
      if (!run) continue;
      if (ticks < least) least = ticks;
      if (ticks > most) most = ticks;
    }
    modelc_test_text(call->name);
    modelc_test_text(": ");
    modelc_bench_ticks(least, ", at most ");
    modelc_test_number(most);
    modelc_test_text(" in ");
    modelc_test_number(MODELC_BENCH_RUNS);
    modelc_test_text(" calls");
    modelc_test_end_line();
    modelc_bench_table();
  }
  return 0;
}
