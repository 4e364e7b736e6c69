/* procfs: what /proc tells about a process. Reads only; a process that has vanished is
 * "nothing found", never a failure of ours. */
#ifndef WATCHPROF_PROCFS_H
#define WATCHPROF_PROCFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Fields of /proc/TID/status. */
struct procfs_status {
	pid_t tgid, parent, tracer;
	pid_t inner_tgid;	 /* the process id in its own namespace */
	uid_t uid, euid;	 /* real and effective */
	char state;		 /* R S D T t Z X */
	uint64_t pending;	 /* signals waiting for the thread or its process: bit n-1 */
	uint64_t blocked, ignored, caught;
	int seccomp; /* 0: its system calls are not filtered */
	int filters; /* how many filters of them there are; a child has its parent's */
	char name[64]; /* comm; not escaped */
};

/* Returns false where there is no such thread. */
bool procfs_status(pid_t tid, struct procfs_status *out);

/* Is the signal pending for the thread? False where there is no such thread. What failed for another reason (EMFILE) is tried again:
 * who lets a thread go with a signal of ours kills it. */
bool procfs_is_pending(pid_t tid, int sig);

/* The processor that a thread runs on, or ran on last; -1: not known. */
int procfs_processor(pid_t tid);

/* Has the process filters of system calls (seccomp) that we have not? (In a container we have the same.) */
bool procfs_is_filtered(pid_t pid);

/* The threads of a process now: an array the caller frees, its length in *n; NULL and 0 if
 * the process is gone. */
pid_t *procfs_threads(pid_t pid, size_t *n);

/* May we look into this process? False where the kernel would refuse a tracer, too. */
bool procfs_may_inspect(pid_t pid);

/* One mapping of /proc/PID/maps. */
struct procfs_map {
	uint64_t start, end, offset, inode;
	bool readable, writable, executable, shared;
	char *path; /* "" for anonymous memory */
};

/* All mappings, in order of address; through a living thread where the leader has
 * exited. Free with procfs_maps_free(). */
struct procfs_map *procfs_maps(pid_t pid, size_t *n);
void procfs_maps_free(struct procfs_map *maps, size_t n);

/* Open the very file behind a mapping for reading, also where the process sees other files than
 * we do (containers) or the file was replaced or deleted. Returns a descriptor or -1; *name is a name
 * for it, beside which separate debug files may lie; the caller frees it. */
int procfs_map_open(pid_t pid, const struct procfs_map *map, char **name);

/* A thread of the process that is still alive (the leader, if it is); 0 if none. The files
 * below /proc/PID of a leader that has exited are empty, those of this thread are not. */
pid_t procfs_living_thread(pid_t pid);

/* An entry of the auxiliary vector (AT_*); 0 where it is missing. */
uint64_t procfs_auxv(pid_t pid, uint64_t type);

/* Does the process run 64-bit code? Judged by the ELF class of its executable. */
bool procfs_is_64bit(pid_t pid);

/* The command line with blanks between, or "[comm]"; the caller frees it. */
char *procfs_command(pid_t pid);

/* Yama's ptrace_scope; 0 where there is no Yama. */
int procfs_ptrace_scope(void);

/* A number for the image that the process runs; it changes with exec; 0: in the middle of exec. */
uint64_t procfs_image(pid_t pid);

#endif
