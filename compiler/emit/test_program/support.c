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

/* A real number with so many digits. */
static void modelc_test_real(double value, int digits)
{
  uint64_t scaled, unit = 1;
  int exponent = 0, digit;
  if (value != value) { modelc_test_text("nan"); return; }
  if (value < 0) { modelc_test_text("-"); value = -value; }
  if (value > 1.7976931348623157e308) { modelc_test_text("inf"); return; }
  if (value == 0) { modelc_test_text("0"); return; }
  while (value >= 10) { value /= 10; exponent++; }
  while (value < 1) { value *= 10; exponent--; }
  for (digit = 1; digit < digits; digit++) { unit *= 10; value *= 10; }
  scaled = (uint64_t)(value + 0.5);
  if (scaled >= 10 * unit) { scaled /= 10; exponent++; }
  modelc_test_number(scaled / unit);
  modelc_test_text(".");
  for (scaled %= unit; unit >= 10; scaled %= unit) { unit /= 10; modelc_test_number(scaled / unit); }
  if (exponent == 0) return;
  modelc_test_text(exponent < 0 ? "e-" : "e");
  modelc_test_number((uint64_t)(exponent < 0 ? -exponent : exponent));
}

/* The bits of an element. */
static uint64_t modelc_test_bits(const void *data, size_t index, unsigned bits)
{
  const unsigned char *bytes = (const unsigned char *)data;
  uint64_t word = 0;
  unsigned byte;
  if (bits == 4) return bytes[index / 2] >> (index % 2 * 4) & 15;
  for (byte = 0; byte < bits / 8; byte++) word |= (uint64_t)bytes[index * (bits / 8) + byte] << (8 * byte);
  return word;
}

/* A float from its bits. */
static double modelc_test_float(uint64_t bits, unsigned kind, unsigned width)
{
  union { uint32_t bits; float value; } narrow;
  union { uint64_t bits; double value; } wide;
  wide.bits = bits;
  narrow.bits = (uint32_t)bits;
  if (width == 64) return wide.value;
  if (kind == 'b') narrow.bits = (uint32_t)bits << 16;
  else if (width == 16) {
    uint32_t exponent = (uint32_t)bits >> 10 & 31, fraction = (uint32_t)bits & 1023;
    if (exponent == 0) return (bits >> 15 ? -5.9604644775390625e-8 : 5.9604644775390625e-8) * fraction;
    narrow.bits = (uint32_t)(bits >> 15) << 31 | (exponent == 31 ? 255 : exponent + 112) << 23 | fraction << 13;
  }
  return narrow.value;
}

static void modelc_test_element(uint64_t bits, const modelc_test_expected *expected)
{
  uint64_t sign = (uint64_t)1 << (expected->bits - 1);
  if (expected->kind == 'f' || expected->kind == 'b')
    modelc_test_real(modelc_test_float(bits, expected->kind, expected->bits), 9);
  else if (expected->kind == 'i' && (bits & sign)) {
    modelc_test_text("-");
    modelc_test_number((~bits & (sign - 1)) + 1);
  } else
    modelc_test_number(bits);
}

/* How far a float is from the expected one: 0 where both are the same infinity or no number. */
static double modelc_test_distance(double found, double expected)
{
  double distance = found > expected ? found - expected : expected - found;
  if (found == expected || (found != found && expected != expected)) return 0;
  return distance != distance ? 1.7976931348623157e308 : distance;
}

/* Whether the guards after a buffer are as they were. */
static int modelc_test_guarded(const modelc_test_found *found)
{
  const unsigned char *byte = (const unsigned char *)found->data + found->bytes;
  const unsigned char *end = (const unsigned char *)found->data + (found->bytes + 7) / 8 * 8 + 8;
  if (found->bytes)
    for (; byte != end; byte++)
      if (*byte != 0xa5) return 0;
  return 1;
}

/* Says what an output is beside what it should be; whether it is that. */
static int modelc_test_compare(const char *name, uint32_t output, const modelc_test_expected *expected, const modelc_test_found *found)
{
  size_t index, first = 0, differing = 0;
  double worst = 0;
  const void *data = &modelc_test_words[expected->value.word];
  const size_t *extents = &modelc_test_extents[expected->value.extent];
  modelc_test_text(name);
  modelc_test_text(" out");
  modelc_test_number(output);
  for (index = 0; index < expected->rank; index++)
    if (found->shape[index] != extents[index]) {
      modelc_test_text(": extent ");
      modelc_test_number(index);
      modelc_test_text(" is ");
      modelc_test_number(found->shape[index]);
      modelc_test_text(", expected ");
      modelc_test_number(extents[index]);
      modelc_test_end_line();
      return 0;
    }
  for (index = 0; index < expected->elements; index++) {
    uint64_t a = modelc_test_bits(found->data, index, expected->bits), b = modelc_test_bits(data, index, expected->bits);
    int is_float = expected->kind == 'f' || expected->kind == 'b';
    double distance = 1;
    if (a == b) continue;
    if (is_float)
      distance = modelc_test_distance(modelc_test_float(a, expected->kind, expected->bits),
                                      modelc_test_float(b, expected->kind, expected->bits));
    if (distance > worst) worst = distance;
    if ((is_float && distance <= expected->allowed) || differing++) continue;
    first = index;
  }
  if (differing) {
    modelc_test_text(": ");
    modelc_test_number(differing);
    modelc_test_text(" of ");
    modelc_test_number(expected->elements);
    modelc_test_text(" elements differ; element ");
    modelc_test_number(first);
    modelc_test_text(" is ");
    modelc_test_element(modelc_test_bits(found->data, first, expected->bits), expected);
    modelc_test_text(", expected ");
    modelc_test_element(modelc_test_bits(data, first, expected->bits), expected);
  } else if (!modelc_test_guarded(found)) {
    modelc_test_text(": bytes after its end are written");
  } else {
    modelc_test_text(": agrees, ");
    modelc_test_real(worst / expected->largest, 2);
    modelc_test_text(" of the largest magnitude apart");
    modelc_test_end_line();
    return 1;
  }
  modelc_test_end_line();
  return 0;
}

#ifdef MODELC_TEST_NUMBERS
static void modelc_test_copy(void *to, const modelc_test_value *from, size_t bytes)
{
  volatile unsigned char *byte = (volatile unsigned char *)to;
  size_t index;
  for (index = 0; index < bytes; index++) byte[index] = (unsigned char)modelc_test_bits(&modelc_test_words[from->word], index, 8);
}
#endif

#ifdef MODELC_TEST_SHAPES
static void modelc_test_shape(size_t *shape, const modelc_test_value *from, size_t rank)
{
  size_t dimension;
  for (dimension = 0; dimension < rank; dimension++) shape[dimension] = modelc_test_extents[from->extent + dimension];
}
#endif

/* Whether something went well; a line of what did not. */
static int modelc_test_done(const char *what, int status)
{
  if (status == MODELC_OK) return 1;
  modelc_test_text(what);
  modelc_test_text(": ");
  modelc_test_text(modelc_strerror(status));
  modelc_test_end_line();
  return 0;
}

/* All calls in their order, on an instance that is made for them. */
static int modelc_test_run(const modelc_test_call *calls, uint32_t count)
{
  uint32_t number, output, compared = 0, differing = 0;
  for (number = 0; number < count; number++) {
    const modelc_test_call *call = &calls[number];
    size_t word;
    for (word = 0; word < MODELC_TEST_ROOM; word++) ((volatile uint64_t *)modelc_test_room)[word] = 0xa5a5a5a5a5a5a5a5;
    if (!modelc_test_done(call->name, call->call(call->inputs, modelc_test_outputs))) return 1;
    for (output = 0; output < call->outputs; output++) {
      if (!call->expected[output].kind) continue;
      compared++;
      differing += !modelc_test_compare(call->name, output, &call->expected[output], &modelc_test_outputs[output]);
    }
  }
  modelc_test_number(differing ? differing : compared);
  if (differing) {
    modelc_test_text(" of ");
    modelc_test_number(compared);
  }
  modelc_test_text(compared == 1 ? " output" : " outputs");
  if (!differing) {
    modelc_test_text(" of ");
    modelc_test_number(count);
    modelc_test_text(count == 1 ? " call" : " calls");
  }
  modelc_test_text(differing ? " differ" : " agree");
  modelc_test_end_line();
  return differing != 0;
}
