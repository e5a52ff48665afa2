/* One method of a model of a program that runs several. Included once a method, where METHOD puts a rest behind the names of the model
   and of the method, and where these stand:
     METHOD(_read), METHOD(_prepare), METHOD(_write)  its buffers, which the test knows */

/* The call itself: on a painted stack, where there is one. */
static int METHOD(_direct)(void *arena, const METHOD(_inputs) *in, METHOD(_outputs) *out)
{
#ifdef HAS_PAINTED_STACK
  return call_painted(SIZED(_STACK_BYTES), (void (*)(void))METHOD(), arena, in, out);
#else
  return METHOD()(arena, in, out);
#endif
}

/* A call among so many live numbers that they stand in every register that a callee has to keep. */
static int METHOD(_call)(void *arena, const METHOD(_inputs) *in, METHOD(_outputs) *out)
{
  static volatile double reals[12] = { 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5, 9.5, 10.5, 11.5, 12.5 };
  static volatile long numbers[10] = { 11, 12, 13, 14, 15, 16, 17, 18, 19, 20 };
  double a = reals[0], b = reals[1], c = reals[2], d = reals[3], e = reals[4], f = reals[5];
  double g = reals[6], h = reals[7], i = reals[8], j = reals[9], k = reals[10], l = reals[11];
  long m = numbers[0], n = numbers[1], o = numbers[2], p = numbers[3], q = numbers[4];
  long r = numbers[5], s = numbers[6], t = numbers[7], u = numbers[8], v = numbers[9];
  int status = METHOD(_direct)(arena, in, out);
  CHECK(a == reals[0] && b == reals[1] && c == reals[2] && d == reals[3] && e == reals[4] && f == reals[5]);
  CHECK(g == reals[6] && h == reals[7] && i == reals[8] && j == reals[9] && k == reals[10] && l == reals[11]);
  CHECK(m == numbers[0] && n == numbers[1] && o == numbers[2] && p == numbers[3] && q == numbers[4]);
  CHECK(r == numbers[5] && s == numbers[6] && t == numbers[7] && u == numbers[8] && v == numbers[9]);
  return status;
}

/* Runs the method on the inputs of the next call. */
static void METHOD(_step)(void *arena, FILE *inputs, FILE *outputs)
{
  METHOD(_inputs) in;
  METHOD(_outputs) out;
  METHOD(_read)(inputs, &in);
  METHOD(_prepare)(&out);
  EQUAL(METHOD(_call)(arena, &in, &out), MODELC_OK);
  METHOD(_write)(outputs, &out);
}
