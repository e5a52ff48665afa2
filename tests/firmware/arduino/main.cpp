#include "Arduino.h"

int main() {
  setup();
  return 0;
}
