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

