/*
 * contract: pins what Linux and the processor do with the debug registers of a traced process.
 *
 * This file owns the bench: options, TAP output, and the bare ptrace(2) steps the tests are written
 * in.  It depends on nothing but libc and shares no code with the program whose assumptions it
 * checks.  It must run in an emulator or on a machine whose debug registers fire; elsewhere it says
 * so and exits with status 77.
 */
#include "contract.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define SECONDS_PER_TEST 60
#define EXIT_SKIP        77

_Noreturn void bail(const char *what)
{
	printf("Bail out! %s: %s\n", what, strerror(errno));
	exit(EXIT_FAILURE);
}

static void on_alarm(int signal)
{
	static const char text[] = "Bail out! a test took too long\n";

	(void)signal;
	if (write(STDOUT_FILENO, text, sizeof(text) - 1) < 0)
		_exit(2);
	_exit(EXIT_FAILURE);
}

bool check(struct bench *b, const char *what, uint64_t got, uint64_t wanted)
{
	return check_range(b, what, got, wanted, wanted);
}

bool check_range(struct bench *b, const char *what, uint64_t got, uint64_t min, uint64_t max)
{
	if (got >= min && got <= max)
		return true;
	if (min == max)
		printf("# %s: expected %#" PRIx64 ", got %#" PRIx64 "\n", what, min, got);
	else
		printf("# %s: expected %#" PRIx64 " to %#" PRIx64 ", got %#" PRIx64 "\n", what, min,
			max, got);
	b->failed++;
	return false;
}

void check_dr6(struct bench *b, const char *what, uint64_t dr6, uint64_t one, uint64_t all)
{
	uint64_t bits = dr6 & DR_TRAP_BITS;

	printf("# %s: DR6 = %#" PRIx64 "\n", what, dr6);
	if (b->dr6_mode == DR6_EITHER && (bits == one || bits == all))
		return;
	check(b, what, bits, b->dr6_mode == DR6_ONE ? one : all);
}

unsigned int ending(int status)
{
	return WIFSIGNALED(status) ? 1000u + (unsigned int)WTERMSIG(status)
				   : (unsigned int)WEXITSTATUS(status);
}

static size_t debugreg_offset(int n)
{
	return offsetof(struct user, u_debugreg) + (size_t)n * sizeof(unsigned long long);
}

int poke(const struct tracee *t, int n, uint64_t value)
{
	return ptrace(PTRACE_POKEUSER, t->pid, debugreg_offset(n), value) == 0 ? 0 : errno;
}

uint64_t peek(pid_t pid, int n)
{
	long value;

	errno = 0;
	value = ptrace(PTRACE_PEEKUSER, pid, debugreg_offset(n), NULL);
	if (errno != 0)
		bail("PTRACE_PEEKUSER");
	return (uint64_t)value;
}

uint64_t dr7_bits(int slot, enum watch_type type, int length)
{
	static const uint64_t length_code[] = {[1] = 0, [2] = 1, [4] = 3, [8] = 2};

	return 1ull << (2 * slot) | ((uint64_t)type | length_code[length] << 2) << (16 + 4 * slot);
}

void arm(struct tracee *t, int slot, const volatile void *addr, enum watch_type type, int length)
{
	t->dr7 |= dr7_bits(slot, type, length);
	errno = poke(t, slot, (uintptr_t)addr);
	if (errno != 0)
		bail("writing the address of a slot");
	errno = poke(t, 7, t->dr7);
	if (errno != 0)
		bail("writing DR7");
}

static void become_tracee(struct bench *b, tracee_body *body, const int go[2])
{
	char byte;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	close(go[1]);
	if (read(go[0], &byte, 1) != 1)
		_exit(255);
	close(go[0]);
	_exit(body(b));
}

struct tracee tracee_start(struct bench *b, tracee_body *body, long options)
{
	struct tracee t = {.pid = -1, .go = -1, .dr7 = 0};
	int go[2], status;

	if (pipe2(go, O_CLOEXEC) != 0)
		bail("pipe2");
	fflush(stdout);
	t.pid = fork();
	if (t.pid < 0)
		bail("fork");
	if (t.pid == 0)
		become_tracee(b, body, go);
	close(go[0]);
	t.go = go[1];
	if (ptrace(PTRACE_SEIZE, t.pid, NULL, options) != 0)
		bail("PTRACE_SEIZE");
	if (ptrace(PTRACE_INTERRUPT, t.pid, NULL, NULL) != 0)
		bail("PTRACE_INTERRUPT");
	if (waitpid(t.pid, &status, __WALL) != t.pid || status >> 16 != PTRACE_EVENT_STOP)
		bail("waiting for the stop after PTRACE_INTERRUPT");
	return t;
}

void tracee_go(struct tracee *t)
{
	if (t->go < 0)
		return;
	if (write(t->go, "g", 1) != 1)
		bail("write to the tracee");
	close(t->go);
	t->go = -1;
}

void tracee_resume(const struct tracee *t, int request, int signal)
{
	/* ESRCH: it was killed in the meantime, the next wait tells. */
	if (ptrace(request, t->pid, NULL, (long)signal) != 0 && errno != ESRCH)
		bail("resuming the tracee");
}

struct stop tracee_wait(const struct tracee *t)
{
	struct user_regs_struct regs;
	struct stop s = {0};
	siginfo_t info;

	if (waitpid(t->pid, &s.status, __WALL) != t->pid)
		bail("waitpid");
	if (!WIFSTOPPED(s.status))
		return s;
	if (ptrace(PTRACE_GETREGS, t->pid, NULL, &regs) == 0)
		s.rip = regs.rip;
	if (ptrace(PTRACE_GETSIGINFO, t->pid, NULL, &info) == 0) {
		s.code = info.si_code;
		s.addr = (uintptr_t)info.si_addr;
	}
	s.dr6 = peek(t->pid, 6);
	return s;
}

bool stop_is_hit(const struct stop *s)
{
	return WIFSTOPPED(s->status) && s->status >> 8 == SIGTRAP && s->code == TRAP_HWBKPT;
}

struct stop tracee_first_hit(struct bench *b, struct tracee *t)
{
	struct stop s;

	tracee_go(t);
	tracee_resume(t, PTRACE_CONT, 0);
	s = tracee_wait(t);
	check(b, "the first stop is a hit", stop_is_hit(&s), true);
	return s;
}

/* The signal to pass on when this stop is left: none for hits, group-stops, events and system
 * calls. */
static int stop_signal(const struct stop *s)
{
	int signal = WSTOPSIG(s->status);

	return s->status >> 16 != 0 || stop_is_hit(s) || signal == (SIGTRAP | 0x80) ? 0 : signal;
}

struct tally tracee_finish(struct tracee *t, int request)
{
	struct tally tally = {0};
	struct stop s;
	int signal = 0;

	tracee_go(t);
	for (;;) {
		tracee_resume(t, request, signal);
		s = tracee_wait(t);
		if (!WIFSTOPPED(s.status))
			break;
		signal = stop_signal(&s);
		if (!stop_is_hit(&s)) {
			tally.stray_dr6 |= s.dr6 & DR_TRAP_BITS;
			continue;
		}
		if (tally.hits++ == 0)
			tally.first_dr6 = s.dr6;
		poke(t, 6, 0);
	}
	tally.status = s.status;
	return tally;
}

void tracee_kill(struct tracee *t)
{
	int status;

	kill(t->pid, SIGKILL);
	do {
		if (waitpid(t->pid, &status, __WALL) != t->pid)
			bail("waitpid");
	} while (WIFSTOPPED(status));
	if (t->go >= 0)
		close(t->go);
	t->go = -1;
}

uint64_t note_read(const struct bench *b, const struct tracee *t)
{
	long value;

	errno = 0;
	value = ptrace(PTRACE_PEEKDATA, t->pid, &b->note, NULL);
	if (errno != 0)
		bail("PTRACE_PEEKDATA");
	return (uint64_t)value;
}

static int body_store(struct bench *b)
{
	store_byte(b->area + WATCHED, 1);
	return 0;
}

/* Some hypervisors take the registers and never fire them. */
static bool registers_fire(struct bench *b)
{
	struct tracee t = tracee_start(b, body_store, 0);
	struct tally tally;

	if (poke(&t, 0, (uintptr_t)b->area + WATCHED) != 0 ||
		poke(&t, 7, dr7_bits(0, WATCH_W, 1)) != 0) {
		tracee_kill(&t);
		return false;
	}
	tally = tracee_finish(&t, PTRACE_CONT);
	return tally.hits == 1;
}

static bool run_test(struct bench *b, const struct test *test, size_t number)
{
	b->failed = 0;
	b->skip = NULL;
	b->row = test->row;
	b->note = 0;
	memset(b->area, 0, 2 * (size_t)sysconf(_SC_PAGESIZE));
	if (pipe2(b->pipe, O_CLOEXEC) != 0)
		bail("pipe2");
	alarm(SECONDS_PER_TEST);
	test->function(b);
	alarm(0);
	close(b->pipe[0]);
	close(b->pipe[1]);
	printf("%sok %zu - %s%s%s\n", b->failed != 0 ? "not " : "", number, test->name,
		b->skip != NULL ? " # SKIP " : "", b->skip != NULL ? b->skip : "");
	return b->failed == 0;
}

static const struct test_table *const tables[] = {&hit_tests, &value_tests, &life_tests};
static const size_t table_count = sizeof(tables) / sizeof(tables[0]);

static int run_all(struct bench *b)
{
	size_t count = 0, passed = 0, number = 0, i, j;

	for (i = 0; i < table_count; i++)
		count += tables[i]->count;
	printf("1..%zu\n", count);
	for (i = 0; i < table_count; i++) {
		for (j = 0; j < tables[i]->count; j++)
			passed += run_test(b, &tables[i]->tests[j], ++number);
	}
	printf("# %zu of %zu passed\n", passed, count);
	return passed == count ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int list_all(void)
{
	size_t i, j;

	for (i = 0; i < table_count; i++) {
		for (j = 0; j < tables[i]->count; j++)
			puts(tables[i]->tests[j].name);
	}
	return EXIT_SUCCESS;
}

static int usage(FILE *to, int status)
{
	fputs("Usage: contract [--dr6=one|all] [--list] [--help]\n"
	      "Check what the kernel and the processor do with the debug registers of a traced "
	      "process.\n"
	      "\n"
	      "  --dr6=one   the processor reports one slot per instruction (QEMU)\n"
	      "  --dr6=all   it reports every slot that matched (real processors, Bochs)\n"
	      "              default: either is right\n"
	      "  --list      the names of the tests\n"
	      "\n"
	      "Output: TAP.  Exit status: 0, 1 if a test failed, 77 if the registers never fire on "
	      "this machine.\n",
		to);
	return status;
}

int main(int argc, char **argv)
{
	struct bench b = {.dr6_mode = DR6_EITHER};
	int i;

	for (i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--dr6=one") == 0)
			b.dr6_mode = DR6_ONE;
		else if (strcmp(argv[i], "--dr6=all") == 0)
			b.dr6_mode = DR6_ALL;
		else if (strcmp(argv[i], "--list") == 0)
			return list_all();
		else if (strcmp(argv[i], "--help") == 0)
			return usage(stdout, EXIT_SUCCESS);
		else if (strcmp(argv[i], "--exit") == 0) /* what a tracee that execs becomes */
			return EXIT_SUCCESS;
		else
			return usage(stderr, 2);
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	signal(SIGALRM, on_alarm);
	b.area = mmap(NULL, 2 * (size_t)sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (b.area == MAP_FAILED)
		bail("mmap");
	if (!registers_fire(&b)) {
		puts("1..0 # SKIP debug registers never fire here");
		return EXIT_SKIP;
	}
	return run_all(&b);
}
