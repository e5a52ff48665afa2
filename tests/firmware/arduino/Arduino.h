/* The functions of a sketch. */
#pragma once
void setup(void);
void loop(void);
