/* eyes: how the live screen sees the files of the system. */
#ifndef WATCHPROF_EYES_H
#define WATCHPROF_EYES_H

#include "watchprof/model.h"

extern const struct model_eyes eyes_of_system;

#endif
