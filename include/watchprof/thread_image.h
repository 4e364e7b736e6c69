/* thread_image: what the debug registers of one thread have to hold. Threads of a process differ
 * where thread-local variables are watched: each has its own address. */
#ifndef WATCHPROF_THREAD_IMAGE_H
#define WATCHPROF_THREAD_IMAGE_H

#include "watchprof/dr.h"
#include "watchprof/engine.h"
#include "watchprof/err.h"

#include <stdint.h>
#include <sys/types.h>

/* Watch numbers that no watch has: of the hook, and of what tells that a thread's list of
 * thread-local storage has moved. */
#define IMAGE_HOOK	 (WATCHES_MAX - 1)
#define IMAGE_MOVED	 (WATCHES_MAX - 2)
#define IMAGE_BIT(watch) (1ULL << (watch))

struct thread_image {
	struct dr_image dr;
	/* Bit set: watches whose slot waits for the thread to get its own of the variable; when it
	 * fires, the thread is to be planned again and nothing is counted. */
	uint64_t waiting;
	bool has_spare;	 /* one slot is not needed: it tells that what is waited at has moved */
	bool is_partial; /* it has none of a variable, and nothing is known to wait at */
};

/* Can these spans be watched together? Thread-local ones count as they lie in their module's
 * storage. The image is the one of every thread if no span is thread-local. */
int arming_plan(const struct arming *arming, struct dr_image *image, struct err *err);

/* An arming kept for the threads to come. NULL: no span is thread-local, all threads are armed alike. */
struct armed *armed_new(const struct arming *arming);
struct armed *armed_copy(const struct armed *armed);
void armed_free(struct armed *armed);

/* Plan for one thread. A variable that it has none of yet takes one slot, which waits for it; or none
 * where nothing is known to wait at. with_spare: use a free slot to see whether that moves. Fails where the thread's own addresses need more slots than there are. */
int armed_plan(const struct armed *armed, pid_t tid, uint64_t thread_pointer, bool with_spare,
	struct thread_image *out, struct err *err);

/* Where one thread has span i, whose length and access are *span; or what tells that it gets it. False: the span is not
 * thread-local, or is off. */
bool armed_locate(const struct armed *armed, size_t i, pid_t tid, uint64_t thread_pointer, struct span *span,
	struct place *out);

/* The only slot that can have trapped at ip: one for data, where none waits for an instruction at ip. Negative: there is none, or several. */
int thread_image_only_slot(const struct thread_image *image, uint64_t ip);

/* The DR6 bits of slots that stand for a watch of the user's. */
uint64_t thread_image_slots(const struct thread_image *image);

#endif
