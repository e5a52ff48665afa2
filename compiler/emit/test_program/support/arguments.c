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

