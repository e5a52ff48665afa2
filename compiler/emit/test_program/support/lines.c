/* What every test needs: outputs compared with expected ones, and lines of text. No library, no heap. */

/* A buffer among modelc_test_words, and its extents among modelc_test_extents where they are known only when the model runs. */
typedef struct modelc_test_value {
  uint32_t word, extent;
} modelc_test_value;

/* What an output should be. Elements are of so many bits; kind is 'i' or 'u' for integers, 'f' for floats, 'b' for bfloat16, and 0 where
   nothing is expected. */
typedef struct modelc_test_expected {
  modelc_test_value value;
  size_t elements;
  double largest, allowed;
  uint8_t kind, bits, rank;
} modelc_test_expected;

/* What an output is. A buffer ends after `bytes`, and guards follow it; a number has none. */
typedef struct modelc_test_found {
  const void *data;
  const size_t *shape;
  size_t bytes;
} modelc_test_found;

/* One call: what it is called, the function that makes it, its inputs, and what each of its outputs should be. */
typedef struct modelc_test_call {
  const char *name;
  int (*call)(const modelc_test_value *in, modelc_test_found *found);
  const modelc_test_value *inputs;
  const modelc_test_expected *expected;
  uint32_t outputs;
} modelc_test_call;

static unsigned char modelc_test_memory[MODELC_TEST_ARENA_BYTES + MODELC_TEST_ARENA_ALIGN];
static unsigned char *modelc_test_arena;
static uint64_t modelc_test_room[MODELC_TEST_ROOM];
static modelc_test_found modelc_test_outputs[MODELC_TEST_OUTPUTS];
static char modelc_test_line[256];
static size_t modelc_test_length;

/* Where memory of the arena's alignment begins among some bytes. */
static unsigned char *modelc_test_aligned(unsigned char *memory)
{
  return memory + (-(uintptr_t)memory & (MODELC_TEST_ARENA_ALIGN - 1));
}

static void modelc_test_text(const char *text)
{
  while (*text && modelc_test_length + 1 < sizeof modelc_test_line) modelc_test_line[modelc_test_length++] = *text++;
}

static void modelc_test_end_line(void)
{
  modelc_test_line[modelc_test_length] = 0;
  modelc_puts(modelc_test_line);
  modelc_test_length = 0;
}

static void modelc_test_number(uint64_t number)
{
  char digits[24], *next = digits + sizeof digits;
  *--next = 0;
  do *--next = (char)('0' + number % 10);
  while (number /= 10);
  modelc_test_text(next);
}

