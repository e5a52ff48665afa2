/* What a program that runs models tells init of each: what the CPU has, and how kernels run in parts. */

static uint64_t runner_features;
static const char *runner_threads;

struct part { void (*body)(void *ctx, uint32_t i); void *ctx; uint32_t number; };

static void *run_part(void *part)
{
  struct part *p = part;
  p->body(p->ctx, p->number);
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
  struct part parts[64];
  uint32_t i;
  CHECK(user == &runner_threads && n <= 64);
  for (i = 0; i < n; i++) {
    parts[i].body = body;
    parts[i].ctx = ctx;
    parts[i].number = i;
    EQUAL(pthread_create(&threads[i], NULL, run_part, &parts[i]), 0);
  }
  for (i = 0; i < n; i++)
    EQUAL(pthread_join(threads[i], NULL), 0);
}
