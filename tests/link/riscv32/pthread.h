/* Threads, of which there are none: see linux.c. */
#ifndef PTHREAD_H
#define PTHREAD_H

typedef int pthread_t;

int pthread_create(pthread_t *thread, const void *attributes, void *(*start)(void *), void *argument);
int pthread_join(pthread_t thread, void **result);

#endif
