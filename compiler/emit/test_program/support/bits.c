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

