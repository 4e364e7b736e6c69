/* cut_file: files of the target that are mapped here, and that somebody cuts off meanwhile. */
#ifndef WATCHPROF_CUT_FILE_H
#define WATCHPROF_CUT_FILE_H

#include <signal.h>
#include <stdbool.h>

/* For a handler of SIGBUS. Where the signal is about a page that its file does not have any more, a page of zeros takes
 * its place, in which no reader finds anything, and true is returned: go on. False: it is about something else. */
bool cut_file_go_on(const siginfo_t *info);

/* How many pages there have been. */
unsigned cut_file_pages(void);

#endif
