/* test_call_table.c: for every system call with pointers what it would touch, said from the manual pages, against
 * the plan that is made from the table. */
#include "../../src/call_private.h"
#include "watchprof/util.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Memory that is made up: a page for each letter. A-F begin with a name of four letters, the others
 * hold the structures that pages_new() writes. */
#define BASE   0x100000ULL
#define PAGE   4096ULL
#define AT(c)  (BASE + PAGE * (uint64_t)((c) - 'A'))
#define LAST   'Z'

enum {
	PAGES = LAST - 'A' + 1,
	BAD = 8, /* an address without memory */
};

#define A AT('A')
#define B AT('B')
#define C AT('C')
#define D AT('D')
#define E AT('E')
#define F AT('F')
#define G AT('G') /* pointers to A, B; NULL */
#define H AT('H') /* struct file_handle of 16 bytes */
#define K AT('K') /* struct clone_args */
#define L AT('L') /* the number 16 */
#define M AT('M') /* struct msghdr */
#define N AT('N') /* two struct mmsghdr */
#define Q AT('Q') /* capabilities, version 3 */
#define S AT('S') /* a pointer to A and the number 8 */
#define T AT('T') /* struct sigevent with a cookie in A */
#define V AT('V') /* struct iovec: 10 bytes in A, 20 in B */
#define W AT('W') /* two struct futex_waitv: A, B (private) */
#define X AT('X') /* struct futex_waitv: A (private, with a node) */
#define Y AT('Y') /* struct xattr_args: 30 bytes in A */
#define Z AT('Z') /* attributes that say 72, first and second */

static void put(unsigned char *memory, uint64_t addr, uint64_t value)
{
	memcpy(memory + (addr - BASE), &value, sizeof(value));
}

static unsigned char *pages_new(void)
{
	unsigned char *memory = mem_new(PAGES, PAGE);

	for (char c = 'A'; c <= 'F'; c++)
		strcpy((char *)memory + (AT(c) - BASE), "name");
	put(memory, G, A), put(memory, G + 8, B);
	put(memory, H, 16);
	put(memory, L, 16);
	/* CLONE_PIDFD, CLONE_PARENT_SETTID, CLONE_CHILD_SETTID; three numbers to be set */
	put(memory, K, 0x1101000), put(memory, K + 8, A), put(memory, K + 16, B), put(memory, K + 24, C);
	put(memory, K + 64, D), put(memory, K + 72, 3);
	put(memory, M, C), put(memory, M + 8, 16), put(memory, M + 16, V), put(memory, M + 24, 2);
	put(memory, M + 32, D), put(memory, M + 40, 48);
	memcpy(memory + (N - BASE), memory + (M - BASE), 56);
	put(memory, N + 64 + 16, V + 16), put(memory, N + 64 + 24, 1);
	put(memory, Q, 0x20080522);
	put(memory, S, A), put(memory, S + 8, 8);
	put(memory, T, A), put(memory, T + 8, 2ULL << 32); /* SIGEV_THREAD */
	put(memory, V, A), put(memory, V + 8, 10), put(memory, V + 16, B), put(memory, V + 24, 20);
	put(memory, W + 8, A), put(memory, W + 32, B), put(memory, W + 40, 128);
	put(memory, X + 8, A), put(memory, X + 16, 128 + 4);
	put(memory, Y, A), put(memory, Y + 8, 30);
	put(memory, Z, 72 | 72ULL << 32);
	return memory;
}

static bool pages_read(void *context, uint64_t addr, void *out, size_t len)
{
	if (addr < BASE || addr + len > BASE + PAGES * PAGE)
		return false;
	memcpy(out, (unsigned char *)context + (addr - BASE), len);
	return true;
}

static bool is_seven(void *context, int64_t pid)
{
	(void)context;
	return pid == 7;
}

/* A call and its pieces. A piece is the argument, or @ and the address of the pointer; < (read), > (written), = (both)
 * - (kept) or # (mapped otherwise); its address and length; for what is written how much comes back: w all, c what changed, r result times..., v
 * what a number in memory says; ! where it cannot be elsewhere. In front the class, if it is not plain; behind ~once
 * a futex wait, that looks at its word before it sleeps, ? it may touch more. */
struct example {
	const char *name;
	uint64_t args[CALL_ARGUMENTS];
	const char *pieces;
};

#define IPC_SET_	1
#define IPC_STAT_	2

static const struct example examples[] = {
	/* read(2), write(2) and their like */
	{"read", {3, A, 100}, "1>A:100r"},
	{"write", {3, A, 100}, "1<A:100"},
	{"pread64", {3, A, 100, 5}, "1>A:100r"},
	{"pwrite64", {3, A, 100, 5}, "1<A:100"},
	{"readv", {3, V, 2}, "1<V:32 @V>A:10r @V+16>B:20r"},
	{"writev", {3, V, 2}, "1<V:32 @V<A:10 @V+16<B:20"},
	{"preadv", {3, V, 1}, "1<V:16 @V>A:10r"},
	{"pwritev", {3, V, 1}, "1<V:16 @V<A:10"},
	{"preadv2", {3, V, 1}, "1<V:16 @V>A:10r"},
	{"pwritev2", {3, V, 1}, "1<V:16 @V<A:10"},
	{"vmsplice", {3, V, 1}, "1<V:16! @V=A:10c!"},
	{"sendfile", {1, 2, A, 9}, "2=A:8c"},
	{"splice", {1, A, 2, B, 9}, "1=A:8c 3=B:8c"},
	{"copy_file_range", {1, A, 2, B, 9}, "1=A:8c 3=B:8c"},
	{"process_vm_readv", {7, V, 1, S, 1}, "1<V:16 @V>A:10r 3<S:16 @S<A:8"},
	{"process_vm_readv", {8, V, 1, S, 1}, "1<V:16 @V>A:10r 3<S:16 @S-A:8"},
	{"process_vm_writev", {7, V, 1, S, 1}, "1<V:16 @V<A:10 3<S:16 @S>A:8r"},
	/* names */
	{"open", {A}, "0<A:5"},
	{"openat", {3, A}, "1<A:5"},
	{"openat2", {3, A, B, 24}, "1<A:5 2<B:24"},
	{"creat", {A}, "0<A:5"},
	{"stat", {A, B}, "0<A:5 1>B:144w"},
	{"lstat", {A, B}, "0<A:5 1>B:144w"},
	{"fstat", {3, B}, "1>B:144w"},
	{"newfstatat", {3, A, B}, "1<A:5 2>B:144w"},
	{"statx", {3, A, 0, 0, B}, "1<A:5 4>B:256w"},
	{"statfs", {A, B}, "0<A:5 1>B:120w"},
	{"fstatfs", {3, B}, "1>B:120w"},
	{"ustat", {3, B}, "1>B:32w"},
	{"access", {A}, "0<A:5"},
	{"faccessat", {3, A}, "1<A:5"},
	{"faccessat2", {3, A}, "1<A:5"},
	{"chdir", {A}, "0<A:5"},
	{"chroot", {A}, "0<A:5"},
	{"acct", {A}, "0<A:5"},
	{"uselib", {A}, "0<A:5"},
	{"swapon", {A}, "0<A:5"},
	{"swapoff", {A}, "0<A:5"},
	{"truncate", {A}, "0<A:5"},
	{"rename", {A, B}, "0<A:5 1<B:5"},
	{"renameat", {3, A, 4, B}, "1<A:5 3<B:5"},
	{"renameat2", {3, A, 4, B}, "1<A:5 3<B:5"},
	{"mkdir", {A}, "0<A:5"},
	{"mkdirat", {3, A}, "1<A:5"},
	{"rmdir", {A}, "0<A:5"},
	{"link", {A, B}, "0<A:5 1<B:5"},
	{"linkat", {3, A, 4, B}, "1<A:5 3<B:5"},
	{"symlink", {A, B}, "0<A:5 1<B:5"},
	{"symlinkat", {A, 3, B}, "0<A:5 2<B:5"},
	{"unlink", {A}, "0<A:5"},
	{"unlinkat", {3, A}, "1<A:5"},
	{"readlink", {A, B, 40}, "0<A:5 1>B:40r"},
	{"readlinkat", {3, A, B, 40}, "1<A:5 2>B:40r"},
	{"getcwd", {A, 40}, "0>A:40r"},
	{"chmod", {A}, "0<A:5"},
	{"fchmodat", {3, A}, "1<A:5"},
	{"fchmodat2", {3, A}, "1<A:5"},
	{"chown", {A}, "0<A:5"},
	{"lchown", {A}, "0<A:5"},
	{"fchownat", {3, A}, "1<A:5"},
	{"utime", {A, B}, "0<A:5 1<B:16"},
	{"utimes", {A, B}, "0<A:5 1<B:32"},
	{"futimesat", {3, A, B}, "1<A:5 2<B:32"},
	{"utimensat", {3, A, B}, "1<A:5 2<B:32"},
	{"mknod", {A}, "0<A:5"},
	{"mknodat", {3, A}, "1<A:5"},
	{"getdents", {3, A, 99}, "1>A:99r"},
	{"getdents64", {3, A, 99}, "1>A:99r"},
	{"inotify_add_watch", {3, A}, "1<A:5"},
	{"fanotify_mark", {3, 0, 0, 0, A}, "4<A:5"},
	{"name_to_handle_at", {3, A, H, B}, "1<A:5 2=H:24c 3>B:8c"},
	{"open_by_handle_at", {3, H}, "1<H:24"},
	{"memfd_create", {A}, "0<A:5"},
	{"lookup_dcookie", {1, A, 9}, "1>A:9r"},
	{"setxattr", {A, B, C, 7}, "0<A:5 1<B:5 2<C:7"},
	{"lsetxattr", {A, B, C, 7}, "0<A:5 1<B:5 2<C:7"},
	{"fsetxattr", {3, B, C, 7}, "1<B:5 2<C:7"},
	{"setxattrat", {3, A, 0, B, Y, 16}, "1<A:5 3<B:5 4<Y:16 @Y<A:30"},
	{"getxattr", {A, B, C, 7}, "0<A:5 1<B:5 2>C:7r"},
	{"lgetxattr", {A, B, C, 7}, "0<A:5 1<B:5 2>C:7r"},
	{"fgetxattr", {3, B, C, 7}, "1<B:5 2>C:7r"},
	{"getxattrat", {3, A, 0, B, Y, 16}, "1<A:5 3<B:5 4<Y:16 @Y>A:30r"},
	{"listxattr", {A, C, 7}, "0<A:5 1>C:7r"},
	{"llistxattr", {A, C, 7}, "0<A:5 1>C:7r"},
	{"flistxattr", {3, C, 7}, "1>C:7r"},
	{"listxattrat", {3, A, 0, C, 7}, "1<A:5 3>C:7r"},
	{"removexattr", {A, B}, "0<A:5 1<B:5"},
	{"lremovexattr", {A, B}, "0<A:5 1<B:5"},
	{"fremovexattr", {3, B}, "1<B:5"},
	{"removexattrat", {3, A, 0, B}, "1<A:5 3<B:5"},
	{"file_getattr", {3, A, B, 24}, "1<A:5 2>B:24c"},
	{"file_setattr", {3, A, B, 24}, "1<A:5 2<B:24"},
	{"cachestat", {3, A, B}, "1<A:16 2>B:40w"},
	/* waiting for files */
	{"poll", {A, 3}, "0=A:24c"},
	{"ppoll", {A, 3, B, C, 8}, "0=A:24c 2=B:16c 3<C:8"},
	{"select", {70, A, B, C, D}, "1=A:16w 2=B:16w 3=C:16w 4=D:16c"},
	{"select", {64, A}, "1=A:8w"},
	{"pselect6", {1, A, B, C, D, S}, "1=A:8w 2=B:8w 3=C:8w 4=D:16c 5<S:16 @S<A:8"},
	{"epoll_wait", {3, A, 4}, "1>A:48r12"},
	{"epoll_pwait", {3, A, 4, 0, B, 8}, "1>A:48r12 4<B:8"},
	{"epoll_pwait2", {3, A, 4, C, B, 8}, "1>A:48r12 3<C:16 4<B:8"},
	{"epoll_ctl", {3, 1, 4, A}, "3<A:12"},
	{"signalfd", {3, A, 8}, "1<A:8"},
	{"signalfd4", {3, A, 8}, "1<A:8"},
	{"timerfd_settime", {3, 0, A, B}, "2<A:32 3>B:32w"},
	{"timerfd_gettime", {3, A}, "1>A:32w"},
	{"pipe", {A}, "0>A:8w"},
	{"pipe2", {A}, "0>A:8w"},
	/* sockets */
	{"connect", {3, A, 16}, "1<A:16"},
	{"bind", {3, A, 16}, "1<A:16"},
	{"accept", {3, A, L}, "1>A:16v 2=L:4c"},
	{"accept4", {3, A, L}, "1>A:16v 2=L:4c"},
	{"getsockname", {3, A, L}, "1>A:16v 2=L:4c"},
	{"getpeername", {3, A, L}, "1>A:16v 2=L:4c"},
	{"socketpair", {1, 1, 0, A}, "3>A:8w"},
	{"setsockopt", {3, 1, 2, A, 4}, "3<A:4"},
	{"setsockopt", {3, 1, 26, A, 16}, "3<A:16 ?"},
	{"setsockopt", {3, 0, 128, A, 16}, "3<A:16 ?"},
	{"getsockopt", {3, 1, 2, A, L}, "3=A:16v 4=L:4c"},
	{"getsockopt", {3, 6, 35, A, L}, "3=A:16v 4=L:4c ?"},
	{"sendto", {3, A, 50, 0, B, 16}, "1<A:50 4<B:16"},
	{"sendto", {3, A, 50, 0x4000000}, "1<A:50!"},
	{"recvfrom", {3, A, 50, 0, B, L}, "1>A:50r 4>B:16v 5=L:4c"},
	{"sendmsg", {3, M}, "1<M:56 @M<C:16 @M+16<V:32 @M+32<D:48 @V<A:10 @V+16<B:20"},
	{"recvmsg", {3, M}, "1=M:56c @M>C:16v @M+16<V:32 @M+32>D:48c @V>A:10r @V+16>B:20r"},
	{"sendmmsg", {3, N, 1}, "1=N:64c @N<C:16 @N+16<V:32 @N+32<D:48 @V<A:10 @V+16<B:20"},
	{"recvmmsg", {3, N, 2, 0, E}, "1=N:128c @N>C:16v @N+16<V:32 @N+32>D:48c @V>A:10v @V+16>B:20v "
				       "@N+80<V+16:16 @V+16>B:20v 4=E:16c"},
	/* signals */
	{"rt_sigaction", {10, A, B, 8}, "sigaction 1<A:32 2>B:32w"},
	{"rt_sigprocmask", {0, A, B, 8}, "sigmask 1<A:8 2>B:8w"},
	{"rt_sigpending", {A, 8}, "0>A:8w"},
	{"rt_sigtimedwait", {A, B, C, 8}, "0<A:8 1>B:128w 2<C:16"},
	{"rt_sigqueueinfo", {1, 2, A}, "2<A:128"},
	{"rt_tgsigqueueinfo", {1, 2, 3, A}, "3<A:128"},
	{"pidfd_send_signal", {1, 2, A}, "2<A:128"},
	{"rt_sigsuspend", {A, 8}, "0<A:8"},
	{"sigaltstack", {A, B}, "0<A:24 1>B:24w"},
	/* time */
	{"nanosleep", {A, B}, "0<A:16 1>B:16c"},
	{"clock_nanosleep", {0, 0, A, B}, "2<A:16 3>B:16c"},
	{"getitimer", {0, A}, "1>A:32w"},
	{"setitimer", {0, A, B}, "1<A:32 2>B:32w"},
	{"gettimeofday", {A, B}, "0>A:16w 1>B:8w"},
	{"settimeofday", {A, B}, "0<A:16 1<B:8"},
	{"time", {A}, "0>A:8w"},
	{"times", {A}, "0>A:32w"},
	{"adjtimex", {A}, "0=A:208c"},
	{"clock_adjtime", {0, A}, "1=A:208c"},
	{"clock_settime", {0, A}, "1<A:16"},
	{"clock_gettime", {0, A}, "1>A:16w"},
	{"clock_getres", {0, A}, "1>A:16w"},
	{"timer_create", {0, T, B}, "1<T:64 2=B:4c"},
	{"timer_settime", {0, 0, A, B}, "2<A:32 3>B:32w"},
	{"timer_gettime", {0, A}, "1>A:32w"},
	/* processes */
	{"clone", {0x1100000, 0, A, B}, "fork 2>A:4w 3>B:4c!"},
	{"clone", {0x200000, 0, A, B}, "fork 3-B:4!"},
	{"clone", {17, A, B, C}, "fork"},
	{"clone3", {K, 88}, "fork 0<K:88 @K+8>A:4w @K+16>B:4c! @K+24>C:4w @K+64<D:12"},
	{"execve", {A, G, G}, "exec 0<A:5 1<G:24 @G<A:5 @G+8<B:5 2<G:24 @G<A:5 @G+8<B:5"},
	{"execveat", {3, A, G, 0}, "exec 1<A:5 2<G:24 @G<A:5 @G+8<B:5"},
	{"wait4", {1, A, 0, B}, "1>A:4w 3>B:144w"},
	{"waitid", {1, 2, A, 0, B}, "2>A:128w 4>B:144c"},
	{"ptrace", {12, 1, 0, A}, "3>A:216w"},
	{"ptrace", {7, 1, 0, A}, ""},
	{"ptrace", {0x4204, 1, 1, V}, "3=V:16c @V>A:10c"}, /* PTRACE_GETREGSET, PTRACE_SETREGSET */
	{"ptrace", {0x4205, 1, 1, V}, "3=V:16c @V<A:10"},
	{"ptrace", {0x4209, 1, A, B}, "?"},
	{"getrlimit", {1, A}, "1>A:16w"},
	{"setrlimit", {1, A}, "1<A:16"},
	{"prlimit64", {0, 1, A, B}, "2<A:16 3>B:16w"},
	{"getrusage", {0, A}, "1>A:144w"},
	{"getgroups", {3, A}, "1>A:12r4"},
	{"setgroups", {3, A}, "1<A:12"},
	{"getresuid", {A, B, C}, "0>A:4w 1>B:4w 2>C:4w"},
	{"getresgid", {A, B, C}, "0>A:4w 1>B:4w 2>C:4w"},
	{"capget", {Q, A}, "0=Q:8c 1>A:24c"},
	{"capset", {Q, A}, "0=Q:8c 1<A:24"},
	{"sched_setparam", {0, A}, "1<A:4"},
	{"sched_getparam", {0, A}, "1>A:4w"},
	{"sched_setscheduler", {0, 0, A}, "2<A:4"},
	{"sched_rr_get_interval", {0, A}, "1>A:16w"},
	{"sched_setaffinity", {0, 8, A}, "2<A:8"},
	{"sched_getaffinity", {0, 128, A}, "2>A:128r"},
	{"sched_setattr", {0, Z}, "1=Z:72c"},
	{"sched_getattr", {0, A, 56}, "1>A:56c"},
	{"getcpu", {A, B}, "0>A:4w 1>B:4w"},
	{"set_tid_address", {A}, "registers 0-A:4!"},
	{"set_robust_list", {A, 24}, "registers 0-A:24!"},
	{"get_robust_list", {0, A, B}, "1>A:8w 2>B:8w"},
	{"rseq", {A, 32}, "registers 0=A:32c!"},
	{"prctl", {15, A}, "1<A:5"}, /* PR_SET_NAME */
	{"prctl", {16, A}, "1>A:16w"},
	{"prctl", {2, A}, "1>A:4w"},
	{"prctl", {1, A}, ""},
	{"prctl", {78, 1, 16}, ""},
	{"prctl", {12345, 1}, "?"}, /* what nobody knows */
	{"prctl", {22, 2, A}, "seccomp 2=A:4096c! ?"},
	{"prctl", {0x53564d41, 0, A, 4096, B}, "map 2#A:4096! 4<B:5"},
	{"arch_prctl", {0x1003, A}, "1>A:8w"}, /* ARCH_GET_FS */
	{"arch_prctl", {0x1002, A}, ""},       /* ARCH_SET_FS */
	{"arch_prctl", {0x3001, A}, "?"},
	{"modify_ldt", {0, A, 64}, "1>A:64r"},
	{"modify_ldt", {1, A, 16}, "1<A:16"},
	{"kcmp", {1, 2, 7, 3, A}, "4<A:12"},
	/* the system */
	{"uname", {A}, "0>A:390w"},
	{"sysinfo", {A}, "0>A:112w"},
	{"syslog", {3, A, 100}, "1>A:100c"},
	{"sethostname", {A, 4}, "0<A:4"},
	{"setdomainname", {A, 4}, "0<A:4"},
	{"getrandom", {A, 40}, "0>A:40r"},
	{"mount", {A, B, C, 0, D}, "0<A:5 1<B:5 2<C:5 4=D:4096c!"},
	{"umount2", {A}, "0<A:5"},
	{"pivot_root", {A, B}, "0<A:5 1<B:5"},
	{"open_tree", {3, A}, "1<A:5"},
	{"open_tree_attr", {3, A, 0, B, 32}, "1<A:5 3<B:32"},
	{"move_mount", {3, A, 4, B}, "1<A:5 3<B:5"},
	{"fsopen", {A}, "0<A:5"},
	{"fsconfig", {3, 1, A, B}, "2<A:5 3=B:4096c!"},
	{"fspick", {3, A}, "1<A:5"},
	{"mount_setattr", {3, A, 0, B, 32}, "1<A:5 3<B:32"},
	{"statmount", {Z, A, 200}, "0<Z:72 1>A:200c"},
	{"listmount", {Z, A, 4}, "0<Z:72 1>A:32r8"},
	{"quotactl", {0, A, 0, B}, "1<A:5 3=B:4096c!"},
	{"quotactl_fd", {3, 0, 0, B}, "3=B:4096c!"},
	{"sysfs", {1, A}, "1<A:5"},
	{"sysfs", {2, 0, A}, "2=A:4096c!"},
	{"reboot", {0, 0, 0, A}, "3=A:4096c!"},
	{"init_module", {A, 64, B}, "0<A:64 2<B:5"},
	{"finit_module", {3, A}, "1<A:5"},
	{"delete_module", {A}, "0<A:5"},
	{"kexec_file_load", {3, 4, 6, A}, "3<A:6"},
	{"bpf", {0, A, 48}, "1=A:48c ?"},
	{"perf_event_open", {Z}, "0=Z:72c"},
	{"seccomp", {1, 0, A}, "seccomp 2=A:4096c! ?"},
	{"landlock_create_ruleset", {A, 16}, "0<A:16"},
	{"landlock_add_rule", {3, 1, A}, "2<A:16"},
	{"lsm_get_self_attr", {100, A, L}, "1=A:16c 2=L:4c"},
	{"lsm_set_self_attr", {100, A, 40}, "1<A:40"},
	{"lsm_list_modules", {A, L}, "0>A:16c 1=L:4c"},
	{"add_key", {A, B, C, 9}, "0<A:5 1<B:5 2<C:9"},
	{"request_key", {A, B, C}, "0<A:5 1<B:5 2<C:5"},
	{"keyctl", {11, 1, A, 9}, "2>A:9r"},
	{"keyctl", {3, 1}, ""},
	{"keyctl", {23, A}, "?"},
	/* memory */
	{"mmap", {0, PAGE, 3, 0x22}, "map"},
	{"mmap", {B, PAGE + 1, 3, 0x32}, "map 0#B:8192!"},
	{"mmap", {B, PAGE + 1, 3, 0x100022}, "map"}, /* MAP_FIXED_NOREPLACE */
	{"munmap", {A, PAGE}, "map 0#A:4096!"},
	{"mprotect", {A, 1, 3}, "map 0#A:4096!"},
	{"pkey_mprotect", {A, 1, 3, 1}, "map 0#A:4096!"},
	{"mremap", {A, PAGE, 2 * PAGE, 1}, "map 0#A:4096!"},
	{"mremap", {A, PAGE, 2 * PAGE, 3, C}, "map 0#A:4096! 4#C:8192!"},
	{"brk", {0}, "map"},
	{"brk", {B}, "map 0#B:1099511627776!"},
	{"madvise", {A, PAGE, 4}, "map 0#A:4096!"},
	{"mlock", {A + 5, PAGE}, "map 0#A:8192!"},
	{"mlock2", {A, PAGE}, "map 0#A:4096!"},
	{"munlock", {A, PAGE}, "map 0#A:4096!"},
	{"remap_file_pages", {A, PAGE}, "map 0#A:4096!"},
	{"set_mempolicy_home_node", {A, PAGE}, "map 0#A:4096!"},
	{"mseal", {A, PAGE}, "map 0#A:4096!"},
	{"mincore", {A, 2 * PAGE + 1, B}, "2>B:3w"},
	{"mbind", {A, PAGE, 1, B, 65}, "map 0#A:4096! 3<B:8"},
	{"set_mempolicy", {1, B, 65}, "1<B:8"},
	{"get_mempolicy", {A, B, 66}, "0>A:4w 1>B:16c"},
	{"get_mempolicy", {A, 0, 0, C, 3}, "0>A:4w 3<C:1!"}, /* MPOL_F_NODE | MPOL_F_ADDR: it looks at the page */
	{"migrate_pages", {0, 65, A, B}, "2<A:8 3<B:8"},
	{"move_pages", {0, 2, A, B, C}, "map 2<A:16 3<B:8 4>C:8w ?"},
	{"process_madvise", {3, V, 2, 4}, "map 1<V:32 ?"},
	/* System V and POSIX messages, semaphores, memory */
	{"semop", {1, A, 2}, "1<A:12"},
	{"semtimedop", {1, A, 2, B}, "1<A:12 3<B:16"},
	{"semctl", {1, 0, IPC_STAT_, A}, "3>A:104w"},
	{"semctl", {1, 0, 13, A}, "3>A:64000c!"}, /* GETALL, SETALL */
	{"semctl", {1, 0, 17, A}, "3<A:64000!"},
	{"semctl", {1, 0, 16, 99999999}, ""}, /* SETVAL */
	{"shmctl", {1, IPC_STAT_, A}, "2>A:112w"},
	{"shmctl", {1, IPC_SET_, A}, "2<A:112"},
	{"msgctl", {1, IPC_STAT_, A}, "2>A:120w"},
	{"msgctl", {1, 0, A}, ""},
	{"msgsnd", {1, A, 20}, "1<A:28"},
	{"msgrcv", {1, A, 20}, "1>A:28r1+8"},
	{"mq_open", {A, 0, 0, B}, "0<A:5 3<B:64"},
	{"mq_unlink", {A}, "0<A:5"},
	{"mq_timedsend", {3, A, 9, 0, B}, "1<A:9 4<B:16"},
	{"mq_timedreceive", {3, A, 9, C, B}, "1>A:9r 3>C:4w 4<B:16"},
	{"mq_notify", {3, T}, "1<T:64 @T<A:32"},
	{"mq_getsetattr", {3, A, B}, "1<A:64 2>B:64w"},
	/* ioctl and fcntl */
	{"ioctl", {3, 0x5401, A}, "2>A:36w"}, /* TCGETS */
	{"ioctl", {3, 0x5413, A}, "2>A:8w"},  /* TIOCGWINSZ */
	{"ioctl", {3, 0x541b, A}, "2>A:4w"},  /* FIONREAD */
	{"ioctl", {3, 0x5421, A}, "2<A:4"},   /* FIONBIO */
	{"ioctl", {3, 0x5450, A}, ""},	      /* FIONCLEX */
	{"ioctl", {3, 0x80086601, A}, "2>A:4w"},
	{"ioctl", {3, 0x8913, A}, "2=A:40c"},
	{"ioctl", {3, 0x123456, A}, "?"},
	{"ioctl", {3, 0x123456, 77}, ""},
	{"fcntl", {3, 5, A}, "2=A:32c"},   /* F_GETLK */
	{"fcntl", {3, 7, A}, "2<A:32"},  /* F_SETLKW */
	{"fcntl", {3, 4, A}, ""},	   /* F_SETFL */
	{"fcntl", {3, 1031, 1 << 20}, ""}, /* F_SETPIPE_SZ */
	{"fcntl", {3, 1234, A}, "?"},
	{"fcntl", {3, 1234, 77}, ""},
	{"fcntl", {3, 16, A}, "2>A:8w"},   /* F_GETOWN_EX */
	/* futex: 0 wait, 1 wake, 4 compare and requeue, 5 wake and change, 6 lock, 9 wait with mask; 128 private */
	{"futex", {A, 0, 1, B}, "futex 0=A:4c! 3<B:16 ~once"},
	{"futex", {A, 128, 1, B}, "futex 0<A:4! 3<B:16 ~once"},
	{"futex", {A, 129, 1, B, C}, "futex"},
	{"futex", {A, 1, 1, B, C}, "futex 0=A:4c!"},
	{"futex", {A, 128 + 256 + 9, 1, B}, "futex 0<A:4! 3<B:16 ~once"},
	{"futex", {A, 4, 1, 1, B}, "futex 0=A:4c! 4=B:4c!"},
	{"futex", {A, 128 + 4, 1, 1, B}, "futex 0<A:4!"},
	{"futex", {A, 128 + 5, 1, 1, B}, "futex 4=B:4c!"},
	{"futex", {A, 128 + 6, 0, B}, "futex 0=A:4c! 3<B:16"},
	{"futex_waitv", {W, 2, 0, B}, "futex 0<W:48 @W+8=A:4c! @W+32<B:4! 3<B:16 ~once"},
	{"futex_wake", {A}, "futex 0=A:4c!"},
	{"futex_wake", {A, 0, 1, 128}, "futex"},
	{"futex_wait", {A, 0, 0, 0, B}, "futex 0=A:4c! 4<B:16 ~once"},
	{"futex_wait", {A, 0, 0, 128 + 2, B}, "futex 0<A:4! 4<B:16 ~once"},
	/* With the number of a node behind the word. */
	{"futex_wake", {A, 0, 1, 4 + 128 + 2}, "futex 0=A:8c!"},
	{"futex_wait", {A, 0, 0, 4 + 2, B}, "futex 0=A:8c! 4<B:16 ~once"},
	{"futex_waitv", {X, 1}, "futex 0<X:24 @X+8=A:8c! ~once"},
	{"futex_requeue", {W}, "futex 0<W:48 @W+8=A:4c! @W+32<B:4!"},
	/* asynchronous */
	{"io_setup", {4, A}, "async 1=A:8c"},
	{"io_getevents", {1, 1, 4, A, B}, "async 3>A:128r32 4<B:16"},
	{"io_pgetevents", {1, 1, 4, A, B, S}, "async 3>A:128r32 4<B:16 5<S:16 @S<A:8"},
	{"io_uring_setup", {4, A}, "async 1=A:120c"},
};

static const char *const class_names[] = {
	[CALL_PLAIN] = "",
	[CALL_MAP] = "map",
	[CALL_SIGRETURN] = "sigreturn",
	[CALL_SIGACTION] = "sigaction",
	[CALL_SIGMASK] = "sigmask",
	[CALL_FORK] = "fork",
	[CALL_EXEC] = "exec",
	[CALL_EXIT] = "exit",
	[CALL_FUTEX] = "futex",
	[CALL_REGISTERS_POINTER] = "registers",
	[CALL_ASYNC] = "async",
	[CALL_SECCOMP] = "seccomp",
	[CALL_UNKNOWN] = "unknown",
};

static void address_print(FILE *out, uint64_t addr)
{
	fputc('A' + (int)((addr - BASE) / PAGE), out);
	if (addr % PAGE)
		fprintf(out, "+%u", (unsigned)(addr % PAGE));
}

static void piece_print(FILE *out, const struct call_piece *piece)
{
	if (piece->argument >= 0) {
		fprintf(out, "%d", piece->argument);
	} else {
		fputc('@', out);
		address_print(out, piece->pointer_at);
	}
	fputc("-<>=???#"[piece->direction], out);
	address_print(out, piece->addr);
	fprintf(out, ":%llu", (unsigned long long)piece->len);
	if (piece->direction & CALL_OUT && !(piece->direction & CALL_MAPPED)) {
		fputc("cwrv"[piece->back], out);
		if (piece->back == BACK_RESULT && piece->scale + piece->base != 1)
			fprintf(out, "%u", piece->scale);
		if (piece->back == BACK_RESULT && piece->base)
			fprintf(out, "+%u", piece->base);
	}
	fprintf(out, "%s ", piece->is_fixed ? "!" : "");
}

static int word_compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The words of a text in the order of letters: new text. */
static char *words_sort(const char *text)
{
	char *copy = text_copy(text), *words[64], *out, *save = NULL;
	size_t n = 0, len;
	FILE *file = open_memstream(&out, &len);

	for (char *word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save))
		words[n++] = word;
	qsort(words, n, sizeof(words[0]), word_compare);
	for (size_t i = 0; i < n; i++)
		fprintf(file, "%s ", words[i]);
	fclose(file);
	free(copy);
	return out;
}

static char *plan_text(const struct call_plan *plan)
{
	char *text, *sorted;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	fprintf(out, "%s ", class_names[plan->class]);
	for (size_t i = 0; i < plan->n; i++)
		piece_print(out, &plan->pieces[i]);
	fprintf(out, "%s%s%s", plan->looks_once ? "~once " : "", plan->is_complete ? "" : "? ", plan->is_bad ? "bad " : "");
	fclose(out);
	sorted = words_sort(text);
	free(text);
	return sorted;
}

/* NULL: the number is not known. */
static const char *call_name(uint64_t nr)
{
	return nr < call_entries_end ? call_entries[nr].name : NULL;
}

static uint64_t number_of(const char *name)
{
	for (uint64_t nr = 0; nr < call_entries_end; nr++) {
		if (call_name(nr) && !strcmp(call_name(nr), name))
			return nr;
	}
	fail_msg("no call is named %s", name);
	return 0;
}

static void plan_make(unsigned char *pages, const char *name, const uint64_t *args, struct call_plan *plan)
{
	struct call_memory memory = {.context = pages, .read = pages_read, .is_self = is_seven};

	call_plan(number_of(name), args, &memory, plan);
}

static void test_examples(void **state)
{
	unsigned char *pages = pages_new();
	struct call_plan *plan = mem_new(1, sizeof(*plan));

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(examples); i++) {
		char *want = words_sort(examples[i].pieces), *have;

		plan_make(pages, examples[i].name, examples[i].args, plan);
		have = plan_text(plan);
		if (strcmp(want, have))
			fail_msg("%s: want \"%s\", have \"%s\"", examples[i].name, want, have);
		free(want);
		free(have);
	}
	free(plan);
	free(pages);
}

static void test_all_have_examples(void **state)
{
	(void)state;
	for (uint64_t nr = 0; nr < call_entries_end; nr++) {
		bool is_there = false;

		if (!call_entries[nr].options && call_entries[nr].rules[0].kind == RULE_NONE)
			continue;
		for (size_t i = 0; i < ARRAY_LEN(examples); i++)
			is_there |= !strcmp(examples[i].name, call_name(nr));
		if (!is_there)
			fail_msg("%s has pointers and no example", call_name(nr));
	}
}

/* What has no pointers, and its class. */
static void test_classes(void **state)
{
	static const struct example calls[] = {
		{"mlockall", {0}, "map ?"}, {"munlockall", {0}, "map ?"}, {"shmat", {0}, "map ?"},
		{"shmdt", {0}, "map ?"}, {"map_shadow_stack", {0}, "map"},
		{"rt_sigreturn", {0}, "sigreturn ?"}, {"fork", {0}, "fork"}, {"vfork", {0}, "fork"},
		{"exit", {0}, "exit"}, {"exit_group", {0}, "exit"}, {"io_submit", {0}, "async ?"},
		{"io_cancel", {0}, "async ?"}, {"io_uring_enter", {0}, "async ?"},
		{"io_uring_register", {0}, "async ?"}, {"io_destroy", {0}, "async"},
		{"userfaultfd", {0}, "async"}, {"uretprobe", {0}, "unknown ?"}, {"kexec_load", {0}, "?"},
		{"close", {A}, ""}, {"getpid", {A}, ""}, {"lseek", {A, A, A}, ""}, {"kill", {A}, ""},
		{"pause", {A}, ""}, {"restart_syscall", {A}, ""},
	};
	struct call_plan *plan = mem_new(1, sizeof(*plan));

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
		char *want = words_sort(calls[i].pieces), *have;

		plan_make(NULL, calls[i].name, calls[i].args, plan);
		have = plan_text(plan);
		assert_string_equal(want, have);
		free(want);
		free(have);
	}
	free(plan);
}

/* The numbers are those of the kernel that this is built on, and no others are named. */
static void test_numbers(void **state)
{
	static const struct {
		const char *name;
		uint64_t nr;
	} known[] = {{"read", 0}, {"rt_sigreturn", 15}, {"clone", 56}, {"execve", 59}, {"gettimeofday", 96},
		{"arch_prctl", 158}, {"getxattr", 191}, {"futex", 202}, {"epoll_wait", 232}, {"openat", 257},
		{"recvmmsg", 299}, {"rseq", 334}, {"uretprobe", 335}, {"pidfd_send_signal", 424}, {"clone3", 435},
		{"futex_waitv", 449}, {"mseal", 462}, {"file_setattr", 469}};
	struct call_memory memory = {.read = pages_read};
	static const uint64_t args[CALL_ARGUMENTS];
	struct call_plan *plan = mem_new(1, sizeof(*plan));

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		assert_string_equal(call_name(known[i].nr), known[i].name);
	for (uint64_t nr = 0; nr < call_entries_end; nr++)
		assert_int_equal(call_name(nr) != NULL, nr <= 336 || nr >= 424);
	static const uint64_t unknown[] = {337, 423, 470, 512, 0x40000000, UINT64_MAX};

	for (size_t i = 0; i < ARRAY_LEN(unknown); i++) {
		call_plan(unknown[i], args, &memory, plan);
		assert_int_equal(plan->class, CALL_UNKNOWN);
		assert_false(plan->is_complete);
		assert_null(call_name(unknown[i]));
	}
	free(plan);
}

/* Numbers of int are cut to 32 bits, those of size_t are not; what is too long ends where memory does. */
static void test_counts(void **state)
{
	struct call_plan *plan = mem_new(1, sizeof(*plan));
	unsigned char *pages = pages_new();

	(void)state;
	plan_make(pages, "connect", (uint64_t[6]){3, A, 0xabc00000010}, plan);
	assert_int_equal(plan->pieces[0].len, 16);
	plan_make(pages, "read", (uint64_t[6]){3, A, UINT64_MAX}, plan);
	assert_true(plan->pieces[0].addr + plan->pieces[0].len == 1ULL << 56);
	plan_make(pages, "epoll_wait", (uint64_t[6]){3, A, UINT32_MAX}, plan);
	assert_int_equal(plan->pieces[0].len, 12ULL * UINT32_MAX);
	plan_make(pages, "read", (uint64_t[6]){3, A, 0}, plan);
	assert_int_equal(plan->n, 0);
	plan_make(pages, "read", (uint64_t[6]){3, 0, 9}, plan);
	assert_int_equal(plan->n, 0);
	plan_make(pages, "read", (uint64_t[6]){3, UINT64_MAX - 4, 9}, plan);
	assert_int_equal(plan->n, 0);
	free(pages);
	free(plan);
}

/* Memory that cannot be read: the kernel will say so. A string without an end, too many
 * pieces: the plan is not complete. */
static void test_bad_memory(void **state)
{
	struct call_plan *plan = mem_new(1, sizeof(*plan));
	unsigned char *pages = pages_new();

	(void)state;
	plan_make(pages, "chdir", (uint64_t[6]){BAD}, plan);
	assert_true(plan->is_bad && plan->is_complete && !plan->n);
	plan_make(pages, "readv", (uint64_t[6]){3, BAD, 1}, plan);
	assert_true(plan->is_bad && plan->is_complete && !plan->n);
	memset(pages + (Z - BASE), 'x', PAGE);
	plan_make(pages, "chdir", (uint64_t[6]){Z + 1}, plan);
	assert_true(plan->is_bad && plan->is_complete && !plan->n);
	memset(pages, 'x', 2 * PAGE);
	plan_make(pages, "chdir", (uint64_t[6]){A}, plan);
	assert_true(!plan->is_bad && !plan->is_complete);
	plan_make(pages, "prctl", (uint64_t[6]){15, A}, plan);
	assert_true(!plan->is_bad && plan->is_complete && plan->pieces[0].len == 15);
	plan_make(pages, "readv", (uint64_t[6]){3, A, 1024}, plan);
	assert_true(!plan->is_bad && !plan->is_complete);
	/* More than UIO_MAXIOV: refused by the kernel. */
	plan_make(pages, "readv", (uint64_t[6]){3, A, 1025}, plan);
	assert_true(!plan->is_bad && plan->is_complete && !plan->n);
	free(pages);
	free(plan);
}

/* How much of a piece was written, by the result. */
static void test_written(void **state)
{
	struct call_piece result = {.direction = CALL_OUT, .back = BACK_RESULT, .scale = 12, .len = 48};
	struct call_piece whole = {.direction = CALL_OUT, .back = BACK_WHOLE, .len = 8, .back_needs = 1};
	struct call_piece value = {.direction = CALL_OUT, .back = BACK_VALUE, .len = 16};

	(void)state;
	assert_int_equal(call_written(&result, 2, 0), 24);
	assert_int_equal(call_written(&result, 9, 0), 48);
	assert_int_equal(call_written(&result, 0, 0), 0);
	assert_int_equal(call_written(&result, -4, 0), 0);
	result.before = 36;
	assert_int_equal(call_written(&result, 2, 0), 0);
	assert_int_equal(call_written(&result, 4, 0), 12);
	assert_int_equal(call_written(&whole, 1, 0), 8);
	assert_int_equal(call_written(&whole, 0, 0), 0);
	assert_int_equal(call_written(&value, 0, 7), 7);
	assert_int_equal(call_written(&value, 0, 70), 16);
	assert_int_equal(call_written(&value, -9, 7), 0);
	value.direction = CALL_IN;
	assert_int_equal(call_written(&value, 0, 7), 0);
	assert_true(call_is_restarted(-512) && call_is_restarted(-516) && !call_is_restarted(-4) && !call_is_restarted(-517));
	assert_true(call_is_error(-1) && call_is_error(-4095) && !call_is_error(-4096) && !call_is_error(0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_examples),
		cmocka_unit_test(test_all_have_examples),
		cmocka_unit_test(test_classes),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_counts),
		cmocka_unit_test(test_bad_memory),
		cmocka_unit_test(test_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
