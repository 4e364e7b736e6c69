/* eyes: how the live screen sees the files of the system. */
#ifndef WATCHPROF_EYES_H
#define WATCHPROF_EYES_H

#include "watchprof/model.h"

/* Its context belongs to the caller: eyes_free(). */
struct model_eyes eyes_new(void);
void eyes_free(struct model_eyes *eyes);

#endif
