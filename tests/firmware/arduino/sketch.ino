#include <digits.h>

static_assert(DIGITS_ARENA_BYTES > 0, "");

extern "C" int test_main(void);

void setup() {
  test_main();
}

void loop() {}
