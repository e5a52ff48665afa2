/* Initializes both instances of the model: their names and headers are found, and their symbols are linked. */
#include "digits.h"
#include "shared.h"
#include <stdio.h>

static _Alignas(DIGITS_ARENA_ALIGN) unsigned char arena[DIGITS_ARENA_BYTES];
static _Alignas(SHARED_ARENA_ALIGN) unsigned char other[SHARED_ARENA_BYTES];

int main(void) {
  int status = digits_init(arena, sizeof arena, 0);
  int second = shared_init(other, sizeof other, 0);
  printf("%d %d\n", status, second);
  return status != 0 || second != 0;
}
