/* Threads, of which there are none: see newlib.c. */
#ifndef PTHREAD_H
#define PTHREAD_H
#include <sys/types.h>

int pthread_create(pthread_t *thread, const void *attributes, void *(*function)(void *), void *argument);
int pthread_join(pthread_t thread, void **result);

#endif
