/* call_options.c owns the tables of system calls that are many in one: what ioctl, fcntl, prctl, futex and others
 * do with their pointers for each value of the argument that says what is wanted. Data only; call_table.c
 * reads it. */
#include "call_private.h"

#include "watchprof/util.h"

/* ioctl: numbers of asm-generic/ioctls.h, linux/sockios.h, linux/fs.h, linux/perf_event.h, linux/nsfs.h. Most
 * have no size in them, or a wrong one (FS_IOC_GETFLAGS says long and means int). */
#define NOTHING(number)	       {.value = number}
#define READS(number, bytes)   {.value = number, .rules = {IN(2, bytes)}}
#define WRITES(number, bytes)  {.value = number, .rules = {OUT(2, bytes)}}
#define CHANGES(number, bytes) {.value = number, .rules = {INOUT(2, bytes)}}

enum { TERMIOS = 36, TERMIO = 18, TERMIOS2 = 44, WINSIZE = 8, IFREQ = 40, SERIAL = 72, RS485 = 32 };

static const struct call_option ioctls[] = {
	CHANGES(0x1, 4),	/* FIBMAP */
	WRITES(0x2, 4),		/* FIGETBSZ */
	WRITES(0x5401, TERMIOS), /* TCGETS */
	READS(0x5402, TERMIOS), READS(0x5403, TERMIOS), READS(0x5404, TERMIOS),
	WRITES(0x5405, TERMIO), /* TCGETA */
	READS(0x5406, TERMIO), READS(0x5407, TERMIO), READS(0x5408, TERMIO),
	NOTHING(0x5409), /* TCSBRK */
	NOTHING(0x540a), NOTHING(0x540b), NOTHING(0x540c), NOTHING(0x540d), NOTHING(0x540e),
	WRITES(0x540f, 4),	/* TIOCGPGRP */
	READS(0x5410, 4),	/* TIOCSPGRP */
	WRITES(0x5411, 4),	/* TIOCOUTQ */
	READS(0x5412, 1),	/* TIOCSTI */
	WRITES(0x5413, WINSIZE), /* TIOCGWINSZ */
	READS(0x5414, WINSIZE),
	WRITES(0x5415, 4),	/* TIOCMGET */
	READS(0x5416, 4), READS(0x5417, 4), READS(0x5418, 4),
	WRITES(0x5419, 4),	/* TIOCGSOFTCAR */
	READS(0x541a, 4),
	WRITES(0x541b, 4),	/* FIONREAD */
	NOTHING(0x541d),
	WRITES(0x541e, SERIAL), /* TIOCGSERIAL */
	READS(0x541f, SERIAL),
	READS(0x5420, 4),	/* TIOCPKT */
	READS(0x5421, 4),	/* FIONBIO */
	NOTHING(0x5422),
	READS(0x5423, 4),	/* TIOCSETD */
	WRITES(0x5424, 4),	/* TIOCGETD */
	NOTHING(0x5425), /* TCSBRKP */
	NOTHING(0x5427), NOTHING(0x5428),
	WRITES(0x5429, 4),	/* TIOCGSID */
	WRITES(0x802c542a, TERMIOS2), /* TCGETS2 */
	READS(0x402c542b, TERMIOS2), READS(0x402c542c, TERMIOS2), READS(0x402c542d, TERMIOS2),
	WRITES(0x542e, RS485),	/* TIOCGRS485 */
	CHANGES(0x542f, RS485),
	WRITES(0x80045430, 4),	/* TIOCGPTN */
	READS(0x40045431, 4),	/* TIOCSPTLCK */
	WRITES(0x80045432, 4),	/* TIOCGDEV */
	NOTHING(0x40045436),	/* TIOCSIG: the signal is the argument */
	NOTHING(0x5437),
	WRITES(0x80045438, 4), WRITES(0x80045439, 4), WRITES(0x80045440, 4),
	NOTHING(0x5441),	/* TIOCGPTPEER */
	NOTHING(0x5450), NOTHING(0x5451), /* FIONCLEX, FIOCLEX */
	READS(0x5452, 4),	/* FIOASYNC */
	NOTHING(0x545c), /* TIOCMIWAIT */
	WRITES(0x5460, 8),	/* FIOQSIZE */
	READS(0x40085400, 8),	/* TFD_IOC_SET_TICKS */
	READS(0x8901, 4), READS(0x8902, 4), WRITES(0x8903, 4), WRITES(0x8904, 4), WRITES(0x8905, 4),
	WRITES(0x8906, 16), WRITES(0x8907, 16), /* SIOCGSTAMP, SIOCGSTAMPNS */
	CHANGES(0x8910, IFREQ), CHANGES(0x8913, IFREQ), CHANGES(0x8915, IFREQ), CHANGES(0x8917, IFREQ),
	CHANGES(0x8919, IFREQ), CHANGES(0x891b, IFREQ), CHANGES(0x891d, IFREQ), CHANGES(0x8921, IFREQ),
	CHANGES(0x8927, IFREQ), CHANGES(0x8933, IFREQ), CHANGES(0x8942, IFREQ),
	READS(0x8914, IFREQ), READS(0x8916, IFREQ), READS(0x891a, IFREQ), READS(0x891c, IFREQ),
	READS(0x8922, IFREQ),
	WRITES(0x80086601, 4),	/* FS_IOC_GETFLAGS */
	READS(0x40086602, 4),
	WRITES(0x801c581f, 28), /* FS_IOC_FSGETXATTR */
	READS(0x401c5820, 28),
	NOTHING(0x40049409),	/* FICLONE */
	READS(0x4020940d, 32),	/* FICLONERANGE */
	WRITES(0x125e, 4), WRITES(0x1260, 8), WRITES(0x1268, 4), WRITES(0x80081272, 8), /* BLK* */
	NOTHING(0x1261),	/* BLKFLSBUF */
	NOTHING(0x2400), NOTHING(0x2401), NOTHING(0x2402), NOTHING(0x2403), NOTHING(0x2405), /* perf */
	WRITES(0x80082407, 8),	/* PERF_EVENT_IOC_ID */
	READS(0x40088a01, 8), WRITES(0x80088a02, 8), /* EPIOC* */
	NOTHING(0xb701), NOTHING(0xb702), NOTHING(0xb703), WRITES(0xb704, 4), /* NS_GET_* */
	WRITES(0x80045200, 4),	/* RNDGETENTCNT */
};

const struct call_options call_ioctl = {
	.selector = 1, .mask = UINT32_MAX, .is_lifted = true, .address = 2, .n = ARRAY_LEN(ioctls), .list = ioctls};

static const struct call_option fcntls[] = {
	CHANGES(5, 32), /* F_GETLK */
	READS(6, 32),
	{.value = 7, .rules = {IN(2, 32)}}, /* F_SETLKW */
	READS(15, 8), /* F_SETOWN_EX */
	WRITES(16, 8), WRITES(17, 8),
	CHANGES(36, 32), /* F_OFD_GETLK */
	READS(37, 32),
	{.value = 38, .rules = {IN(2, 32)}},
	WRITES(1035, 8), READS(1036, 8), WRITES(1037, 8), READS(1038, 8), /* F_GET_RW_HINT... */
	/* Their argument is a number, or none. */
	NOTHING(0), NOTHING(1), NOTHING(2), NOTHING(3), NOTHING(4), NOTHING(8), NOTHING(9), NOTHING(10), NOTHING(11),
	NOTHING(1024), NOTHING(1025), NOTHING(1026), NOTHING(1027), NOTHING(1028), NOTHING(1029), NOTHING(1030),
	NOTHING(1031), NOTHING(1032), NOTHING(1033), NOTHING(1034),
};

const struct call_options call_fcntl = {
	.selector = 1, .mask = UINT32_MAX, .is_lifted = true, .address = 2, .n = ARRAY_LEN(fcntls), .list = fcntls};

static const struct call_option prctls[] = {
	{.value = 2, .rules = {OUT(1, 4)}}, /* PR_GET_PDEATHSIG */
	{.value = 5, .rules = {OUT(1, 4)}},
	{.value = 9, .rules = {OUT(1, 4)}},
	{.value = 11, .rules = {OUT(1, 4)}},
	{.value = 15, .rules = {{.kind = RULE_STRING, .argument = 1, .direction = CALL_IN, .size = 15}}}, /* PR_SET_NAME */
	{.value = 16, .rules = {OUT(1, 16)}},
	{.value = 19, .rules = {OUT(1, 4)}},
	{.value = 22, .class = CALL_SECCOMP, .is_incomplete = true, .rules = {VAGUE(2)}}, /* PR_SET_SECCOMP */
	{.value = 25, .rules = {OUT(1, 4)}}, /* PR_GET_TSC */
	{.value = 35, .class = CALL_MAP, .is_incomplete = true, .rules = {VAGUE(2)}}, /* PR_SET_MM */
	{.value = 37, .rules = {OUT(1, 4)}}, /* PR_GET_CHILD_SUBREAPER */
	{.value = 40, .rules = {OUT(1, 8)}}, /* PR_GET_TID_ADDRESS */
	{.value = 59, .class = CALL_REGISTERS_POINTER, .rules = {FIXED(4, 1, CALL_IN)}}, /* syscall user dispatch */
	{.value = 62, .rules = {OUT_MAYBE(4, 8)}}, /* PR_SCHED_CORE */
	{.value = 0x41555856, .rules = {OUT_RESULT(1, 2, 1)}}, /* PR_GET_AUXV */
	{.value = 0x53564d41, .class = CALL_MAP, .rules = {RANGE(2, 3), {.kind = RULE_STRING, .argument = 4, .direction = CALL_IN, .size = 80}}},
	/* Numbers alone. */
	NOTHING(1), NOTHING(3), NOTHING(4), NOTHING(6), NOTHING(7), NOTHING(8), NOTHING(10), NOTHING(12), NOTHING(13),
	NOTHING(14), NOTHING(20), NOTHING(21), NOTHING(23), NOTHING(24), NOTHING(26), NOTHING(27), NOTHING(28),
	NOTHING(29), NOTHING(30), NOTHING(31), NOTHING(32), NOTHING(33), NOTHING(34), NOTHING(36), NOTHING(38),
	NOTHING(39), NOTHING(41), NOTHING(42), NOTHING(43), NOTHING(44), NOTHING(45), NOTHING(46), NOTHING(47),
	NOTHING(50), NOTHING(51), NOTHING(52), NOTHING(53), NOTHING(54), NOTHING(55), NOTHING(56), NOTHING(57),
	NOTHING(58), NOTHING(60), NOTHING(61), NOTHING(63), NOTHING(64), NOTHING(65), NOTHING(66), NOTHING(67),
	NOTHING(68), NOTHING(69), NOTHING(70), NOTHING(71), NOTHING(72), NOTHING(73), NOTHING(75), NOTHING(76),
	NOTHING(77), NOTHING(78), NOTHING(0x59616d61), /* PR_SET_PTRACER */
};

const struct call_options call_prctl = {
	.selector = 0, .mask = UINT32_MAX, .is_lifted = true, .address = CALL_ANY, .n = ARRAY_LEN(prctls), .list = prctls};

static const struct call_option arch_prctls[] = {
	{.value = 0x1003, .rules = {OUT(1, 8)}}, /* ARCH_GET_FS */
	{.value = 0x1004, .rules = {OUT(1, 8)}}, /* ARCH_GET_GS */
	{.value = 0x1021, .rules = {OUT(1, 8)}}, {.value = 0x1022, .rules = {OUT(1, 8)}}, /* ARCH_GET_XCOMP_* */
	{.value = 0x1024, .rules = {OUT(1, 8)}},
	{.value = 0x2001, .class = CALL_MAP}, {.value = 0x2002, .class = CALL_MAP}, {.value = 0x2003, .class = CALL_MAP},
	{.value = 0x4001, .rules = {OUT(1, 8)}}, {.value = 0x4003, .rules = {OUT(1, 8)}}, /* LAM */
	{.value = 0x5001, .class = CALL_MAP, .is_incomplete = true}, /* shadow stack on, off */
	{.value = 0x5002, .class = CALL_MAP, .is_incomplete = true},
	{.value = 0x5005, .rules = {OUT(1, 8)}},
	/* Numbers alone: ARCH_SET_GS, ARCH_SET_FS, cpuid, permissions, LAM, locks of shadow stacks. */
	NOTHING(0x1001), NOTHING(0x1002), NOTHING(0x1011), NOTHING(0x1012), NOTHING(0x1023), NOTHING(0x1025),
	NOTHING(0x4002), NOTHING(0x4004), NOTHING(0x5003), NOTHING(0x5004),
};

const struct call_options call_arch_prctl = {
	.selector = 0, .mask = UINT32_MAX, .is_lifted = true, .address = CALL_ANY, .n = ARRAY_LEN(arch_prctls),
	.list = arch_prctls};

static const struct call_option semctls[] = {
	{.value = 1, .rules = {IN(3, 104)}}, /* IPC_SET */
	{.value = 2, .rules = {OUT(3, 104)}},
	{.value = 3, .rules = {OUT(3, 40)}},  /* IPC_INFO */
	/* Only the kernel knows how many semaphores a set has: 32,000 at most (SEMMSL). */
	{.value = 13, .rules = {FIXED(3, 64000, CALL_OUT)}}, /* GETALL */
	{.value = 17, .rules = {FIXED(3, 64000, CALL_IN)}},  /* SETALL */
	{.value = 18, .rules = {OUT(3, 104)}}, /* SEM_STAT */
	{.value = 19, .rules = {OUT(3, 40)}},
	{.value = 20, .rules = {OUT(3, 104)}},
};

const struct call_options call_semctl = {.selector = 2, .mask = UINT32_MAX, .n = ARRAY_LEN(semctls), .list = semctls};

static const struct call_option shmctls[] = {
	READS(1, 112), WRITES(2, 112), WRITES(3, 72), WRITES(13, 112), WRITES(14, 48), WRITES(15, 112),
};

const struct call_options call_shmctl = {.selector = 1, .mask = UINT32_MAX, .n = ARRAY_LEN(shmctls), .list = shmctls};

static const struct call_option msgctls[] = {
	READS(1, 120), WRITES(2, 120), WRITES(3, 32), WRITES(11, 120), WRITES(12, 32), WRITES(13, 120),
};

const struct call_options call_msgctl = {.selector = 1, .mask = UINT32_MAX, .n = ARRAY_LEN(msgctls), .list = msgctls};

/* The word of a private futex is only read by those that look at its value: for the others its address is
 * enough. That of a shared one is always looked up, and where its page is not shared memory it must be writable, whatever
 * is done (get_futex_key() in kernel/futex/core.c; test_call_bounce.c pins it). The clock bit (256) makes no difference. */
#define WORD(arg)      FIXED(arg, 4, CALL_IN)
#define WORD_SET(arg)  FIXED(arg, 4, CALL_IN | CALL_OUT)
#define PRIVATE	       CALL_FUTEX_PRIVATE

#define ASLEEP	       .looks_once = true

static const struct call_option futexes[] = {
	{.value = 0, ASLEEP, .rules = {WORD_SET(0), IN(3, 16)}}, /* FUTEX_WAIT */
	{.value = 0 | PRIVATE, ASLEEP, .rules = {WORD(0), IN(3, 16)}},
	{.value = 1, .rules = {WORD_SET(0)}},			     /* FUTEX_WAKE */
	{.value = 1 | PRIVATE},
	{.value = 3, .rules = {WORD_SET(0), WORD_SET(4)}},		     /* FUTEX_REQUEUE */
	{.value = 3 | PRIVATE},
	{.value = 4, .rules = {WORD_SET(0), WORD_SET(4)}},		     /* FUTEX_CMP_REQUEUE */
	{.value = 4 | PRIVATE, .rules = {WORD(0)}},
	{.value = 5, .rules = {WORD_SET(0), WORD_SET(4)}},		     /* FUTEX_WAKE_OP */
	{.value = 5 | PRIVATE, .rules = {WORD_SET(4)}},
	{.value = 6, .rules = {WORD_SET(0), IN(3, 16)}}, /* FUTEX_LOCK_PI */
	{.value = 6 | PRIVATE, .rules = {WORD_SET(0), IN(3, 16)}},
	{.value = 7, .rules = {WORD_SET(0)}},			     /* FUTEX_UNLOCK_PI */
	{.value = 7 | PRIVATE, .rules = {WORD_SET(0)}},
	{.value = 8, .rules = {WORD_SET(0)}},			     /* FUTEX_TRYLOCK_PI */
	{.value = 8 | PRIVATE, .rules = {WORD_SET(0)}},
	{.value = 9, ASLEEP, .rules = {WORD_SET(0), IN(3, 16)}}, /* FUTEX_WAIT_BITSET */
	{.value = 9 | PRIVATE, ASLEEP, .rules = {WORD(0), IN(3, 16)}},
	{.value = 10, .rules = {WORD_SET(0)}},			     /* FUTEX_WAKE_BITSET */
	{.value = 10 | PRIVATE},
	{.value = 11, .rules = {WORD_SET(0), WORD_SET(4), IN(3, 16)}}, /* FUTEX_WAIT_REQUEUE_PI */
	{.value = 11 | PRIVATE, .rules = {WORD(0), WORD_SET(4), IN(3, 16)}},
	{.value = 12, .rules = {WORD_SET(0), WORD_SET(4)}},		     /* FUTEX_CMP_REQUEUE_PI */
	{.value = 12 | PRIVATE, .rules = {WORD(0), WORD_SET(4)}},
	{.value = 13, .rules = {WORD_SET(0), IN(3, 16)}}, /* FUTEX_LOCK_PI2 */
	{.value = 13 | PRIVATE, .rules = {WORD_SET(0), IN(3, 16)}},
};

const struct call_options call_futex = {.selector = 1, .mask = ~256U, .n = ARRAY_LEN(futexes), .list = futexes};

/* The calls that each do one of these (futex2): argument 3 says private, and whether there are two words. */
#define WORDS_SET(arg) FIXED(arg, 8, CALL_IN | CALL_OUT)

static const struct call_option futex_wakes[] = {
	{.value = 0, .rules = {WORD_SET(0)}},
	{.value = CALL_FUTEX_NUMA, .rules = {WORDS_SET(0)}},
	{.value = CALL_FUTEX_NUMA | PRIVATE, .rules = {WORDS_SET(0)}},
};

const struct call_options call_futex_wake = {.selector = 3,
	.mask = PRIVATE | CALL_FUTEX_NUMA,
	.n = ARRAY_LEN(futex_wakes),
	.list = futex_wakes};

static const struct call_option futex_waits[] = {
	{.value = 0, .rules = {WORD_SET(0)}},
	{.value = PRIVATE, .rules = {WORD(0)}},
	{.value = CALL_FUTEX_NUMA, .rules = {WORDS_SET(0)}},
	{.value = CALL_FUTEX_NUMA | PRIVATE, .rules = {WORDS_SET(0)}},
};

const struct call_options call_futex_wait = {.selector = 3,
	.mask = PRIVATE | CALL_FUTEX_NUMA,
	.n = ARRAY_LEN(futex_waits),
	.list = futex_waits};

/* Requests without memory of the caller, and those with plain structures. The others are lifted. */
static const struct call_option ptraces[] = {
	NOTHING(0), NOTHING(4), NOTHING(5), NOTHING(6), NOTHING(7), NOTHING(8), NOTHING(9), NOTHING(16), NOTHING(17),
	NOTHING(24), NOTHING(31), NOTHING(32),
	{.value = 1, .rules = {OUT(3, 8)}}, {.value = 2, .rules = {OUT(3, 8)}}, {.value = 3, .rules = {OUT(3, 8)}},
	{.value = 12, .rules = {OUT(3, 216)}}, {.value = 13, .rules = {IN(3, 216)}}, /* PTRACE_GETREGS */
	{.value = 14, .rules = {OUT(3, 512)}}, {.value = 15, .rules = {IN(3, 512)}}, /* PTRACE_GETFPREGS */
	NOTHING(0x4200), NOTHING(0x4206), NOTHING(0x4207), NOTHING(0x4208),
	{.value = 0x4201, .rules = {OUT(3, 8)}}, /* PTRACE_GETEVENTMSG */
	{.value = 0x4202, .rules = {OUT(3, 128)}}, {.value = 0x4203, .rules = {IN(3, 128)}},
	{.value = 0x4204, .rules = {{.kind = RULE_REGSET, .argument = 3, .direction = CALL_OUT}}}, /* PTRACE_GETREGSET */
	{.value = 0x4205, .rules = {{.kind = RULE_REGSET, .argument = 3, .direction = CALL_IN}}},
	{.value = 0x420a, .rules = {OUT_COUNT(3, 2, 1)}}, {.value = 0x420b, .rules = {IN_COUNT(3, 2, 1)}}, /* sigmask */
	{.value = 0x420e, .rules = {OUT_COUNT(3, 2, 1)}}, /* PTRACE_GET_SYSCALL_INFO */
};

const struct call_options call_ptrace = {
	.selector = 0, .mask = UINT32_MAX, .is_lifted = true, .address = CALL_ANY, .n = ARRAY_LEN(ptraces), .list = ptraces};

static const struct call_option keyctls[] = {
	NOTHING(0),
	{.value = 1, .rules = {STRING(1)}},
	{.value = 2, .rules = {IN_COUNT(2, 3, 1)}},
	NOTHING(3), NOTHING(4), NOTHING(5),
	{.value = 6, .rules = {OUT_RESULT(2, 3, 1)}},
	NOTHING(7), NOTHING(8), NOTHING(9),
	{.value = 10, .rules = {STRING(2), STRING(3)}},
	{.value = 11, .rules = {OUT_RESULT(2, 3, 1)}},
};

const struct call_options call_keyctl = {
	.selector = 0, .mask = UINT32_MAX, .is_lifted = true, .address = CALL_ANY, .n = ARRAY_LEN(keyctls), .list = keyctls};

/* Options whose value has pointers in it: SO_ATTACH_FILTER and its like. */
static const struct call_option setsockopts[] = {
	{.value = 26, .is_incomplete = true},
	{.value = 51, .is_incomplete = true},
	{.value = 64, .is_incomplete = true},  /* IPT_SO_SET_REPLACE, of IPv6, too */
	{.value = 96, .is_incomplete = true},  /* ARPT_SO_SET_REPLACE */
	{.value = 128, .is_incomplete = true}, /* EBT_SO_SET_ENTRIES */
};

const struct call_options call_setsockopt = {
	.selector = 2, .mask = UINT32_MAX, .n = ARRAY_LEN(setsockopts), .list = setsockopts};

/* TCP_ZEROCOPY_RECEIVE maps pages; SO_GET_FILTER counts in instructions. */
static const struct call_option getsockopts[] = {
	{.value = 26, .is_incomplete = true},
	{.value = 35, .is_incomplete = true},
};

const struct call_options call_getsockopt = {
	.selector = 2, .mask = UINT32_MAX, .n = ARRAY_LEN(getsockopts), .list = getsockopts};

static const struct call_option sysfses[] = {
	{.value = 1, .rules = {STRING(1)}},
	{.value = 2, .rules = {VAGUE(2)}},
};

const struct call_options call_sysfs = {.selector = 0, .mask = UINT32_MAX, .n = ARRAY_LEN(sysfses), .list = sysfses};

static const struct call_option ldts[] = {
	{.value = 0, .rules = {OUT_RESULT(1, 2, 1)}},
	{.value = 1, .rules = {IN(1, 16)}},
	{.value = 2, .rules = {OUT_RESULT(1, 2, 1)}},
	{.value = 0x11, .rules = {IN(1, 16)}},
};

const struct call_options call_modify_ldt = {.selector = 0, .mask = UINT32_MAX, .n = ARRAY_LEN(ldts), .list = ldts};
