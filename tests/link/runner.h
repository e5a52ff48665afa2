/* What a program that runs models tells init of each: what the CPU has, and how kernels run in ranges. */

static uint64_t runner_features;
static const char *runner_threads;

struct task { void (*body)(void *ctx, uint32_t i); void *ctx; uint32_t number; };

static void *run_task(void *task)
{
  struct task *t = task;
  t->body(t->ctx, t->number);
  return NULL;
}

static void backwards(void *user, uint32_t n, void (*body)(void *ctx, uint32_t i), void *ctx)
{
  CHECK(user == &runner_threads);
  while (n-- > 0)
    body(ctx, n);
}

static void on_threads(void *user, uint32_t n, void (*body)(void *ctx, uint32_t i), void *ctx)
{
  pthread_t threads[64];
  struct task tasks[64];
  uint32_t i;
  CHECK(user == &runner_threads && n <= 64);
  for (i = 0; i < n; i++) {
    tasks[i].body = body;
    tasks[i].ctx = ctx;
    tasks[i].number = i;
    EQUAL(pthread_create(&threads[i], NULL, run_task, &tasks[i]), 0);
  }
  for (i = 0; i < n; i++)
    EQUAL(pthread_join(threads[i], NULL), 0);
}
