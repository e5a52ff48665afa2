/* A check that says where it failed and ends the program. */
#include <stdio.h>
#include <stdlib.h>
#define CHECK(condition) \
  do { if (!(condition)) { fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); exit(1); } } while (0)
#define EQUAL(a, b) \
  do { long long x = (long long)(a), y = (long long)(b); \
       if (x != y) { fprintf(stderr, "%s:%d: %s is %lld, not %lld\n", __FILE__, __LINE__, #a, x, y); exit(1); } } while (0)
