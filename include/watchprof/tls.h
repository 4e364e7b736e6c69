/* tls: where the threads of a process have their thread-local variables, by libthread_db. Reads the
 * target's memory only; what it must know of a thread's registers it is told. */
#ifndef WATCHPROF_TLS_H
#define WATCHPROF_TLS_H

#include "watchprof/engine.h"
#include "watchprof/err.h"
#include "watchprof/symbols.h"

#include <stdint.h>
#include <sys/types.h>

struct tls;

/* For the image that these are the symbols of, which have to live as long. */
struct tls *tls_new(struct symbols *symbols);
void tls_free(struct tls *tls);

/* Can the thread-local variables of a module be found? -1: err tells why not. name is the watch. */
int tls_check(struct tls *tls, uint64_t module, const char *name, struct err *err);

/* struct arming's locate(); context is the struct tls. */
void tls_locate(void *context, pid_t tid, uint64_t thread_pointer, uint64_t module, uint64_t offset,
	struct place *out);

#endif
