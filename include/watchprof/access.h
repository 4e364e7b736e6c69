/* access: what a hit did to each watch. It takes note of a thread that stands at a hit, and gives the verdict
 * later, when that runs again already. */
#ifndef WATCHPROF_ACCESS_H
#define WATCHPROF_ACCESS_H

#include "watchprof/boundaries.h"
#include "watchprof/dr.h"
#include "watchprof/hit.h"
#include "watchprof/insn.h"
#include "watchprof/unwind.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

/* The decoded code of a process image. */
struct accesses;

/* The unwinder tells where functions begin and has their code; it must live as long. */
struct accesses *accesses_new(struct unwinder *unwinder);
void accesses_free(struct accesses *accesses);

/* Where else than at the starts of functions that the unwinder knows instructions begin. */
void accesses_boundaries(struct accesses *accesses, const struct boundaries *boundaries);

/* A thread at a hit. */
struct access_shot {
	struct insn_place place;
	const struct user_regs_struct *regs; /* the caller's, which have to stay; of a plain access, rip alone counts */
	bool has_vectors;
	struct insn_vectors vectors;
};

/* Take note of the stopped thread tid. Its vector registers are read only where instructions with masks
 * or index vectors need them. back: the word on top of its stack (0: not known). */
void access_shoot(struct accesses *accesses, pid_t tid, const struct user_regs_struct *regs, uint64_t back,
	struct access_shot *out);

/* Did the instruction in front of regs->rip touch the len bytes at addr, for all that its code says, and does the verdict
 * need no other register? Then that is the shot. */
bool access_shoot_plain(struct accesses *accesses, const struct user_regs_struct *regs, uint64_t addr, uint64_t len,
	struct access_shot *out);

/* Set watches, kind and kinds of a hit from the slots of dr that are in dr6, for the watches that are in counted.
 * A watch is left out where the access was not of its kind, and put in where the
 * instruction touched it though the processor did not say so (QEMU names one slot of several). shot may be
 * NULL: nothing is known. Returns false where watched bytes were not touched at all: the elements of a masked
 * access that lie there were masked off. */
bool access_judge(const struct access_shot *shot, const struct dr_image *dr, uint64_t dr6, uint64_t counted,
	struct hit *hit);

#endif
