/* restorer.h: a signal handler that returns to code without unwind rules, as musl has it. */
#ifndef RESTORER_H
#define RESTORER_H

#include <signal.h>

/* Install it by the system call itself; 0 or -1. */
int restorer_install(int sig, void (*handler)(int));

#endif
