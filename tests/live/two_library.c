/* two_library: the counter and its writers as a shared library. */
#include "two_functions.h"
