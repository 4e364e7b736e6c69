/* floor.c is the bare ptrace loop, "the floor" of the benchmark (1.00x): PTRACE_CONT, waitpid,
 * PEEKUSER of DR6, GETREGS, and nothing else. No tool that uses ptrace can be cheaper. It watches
 * one global variable of a program it launches, in the first thread, and counts the hits. It
 * shares no code with watchprof, and its loop must never grow. With -s it is the floor of the page engine: SIGSEGV
 * instead of DR6, and SETREGS behind the one instruction that writes (mov %rdi, v(%rip): seven bytes). */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SLOT_BITS   0xfUL     /* of DR6: which slots were hit */
#define DR7_WRITE8  0x90001UL /* slot 0 enabled; writes (01); eight bytes (10) */
#define WRITE_LENGTH 7
#define DEBUGREG(n) (offsetof(struct user, u_debugreg) + (n) * sizeof(unsigned long))

struct options {
	const char *symbol;
	const char *output;
	bool clear;	 /* write DR6 = 0 after each hit as well */
	bool segv;	 /* faults instead of debug registers */
	bool print_only; /* the symbol's address; nothing is run */
	char **command;
};

static _Noreturn void fail(const char *what)
{
	fprintf(stderr, "floor: %s: %s\n", what, strerror(errno));
	exit(125);
}

static _Noreturn void usage(void)
{
	fprintf(stderr,
		"Usage: floor [-0] [-s] [-o FILE] SYMBOL COMMAND [ARG...]\n"
		"       floor -p SYMBOL FILE\n"
		"Watches writes to an eight-byte variable with a bare ptrace loop and prints how many\n"
		"there were and the nanoseconds of the loop.\n"
		"  -0       clear DR6 after each hit\n"
		"  -s       by faults: HOT_SHUT is in the command's environment\n"
		"  -o FILE  print to FILE\n"
		"  -p       only print the variable's address in the file\n");
	exit(125);
}

static struct options options_parse(int argc, char **argv)
{
	struct options options = {0};
	int c;

	while ((c = getopt(argc, argv, "+0o:ps")) != -1) {
		switch (c) {
		case '0':
			options.clear = true;
			break;
		case 's':
			options.segv = true;
			setenv("HOT_SHUT", "1", 1);
			break;
		case 'o':
			options.output = optarg;
			break;
		case 'p':
			options.print_only = true;
			break;
		default:
			usage();
		}
	}
	if (argc - optind < 2)
		usage();
	options.symbol = argv[optind];
	options.command = argv + optind + 1;
	return options;
}

/* A symbol's value, and the file's entry point, from its symbol table. */
static uint64_t symbol_find(const char *path, const char *name, uint64_t *entry)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat stat;
	const unsigned char *file;
	const Elf64_Ehdr *head;
	const Elf64_Shdr *sections;

	if (fd < 0 || fstat(fd, &stat))
		fail(path);
	file = mmap(NULL, (size_t)stat.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (file == MAP_FAILED)
		fail(path);
	close(fd);
	head = (const void *)file;
	sections = (const void *)(file + head->e_shoff);
	*entry = head->e_entry;
	for (unsigned i = 0; i < head->e_shnum; i++) {
		const Elf64_Sym *symbols = (const void *)(file + sections[i].sh_offset);
		const char *names = (const char *)file + sections[sections[i].sh_link].sh_offset;

		if (sections[i].sh_type != SHT_SYMTAB)
			continue;
		for (size_t s = 0; s < sections[i].sh_size / sizeof(*symbols); s++) {
			if (strcmp(names + symbols[s].st_name, name) == 0)
				return symbols[s].st_value;
		}
	}
	errno = ENOENT;
	fail(name);
}

/* Where the process was given to enter its program: that less the file's entry point is how far
 * the program was moved. */
static uint64_t entry_find(pid_t pid)
{
	Elf64_auxv_t aux;
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/auxv", pid);
	file = fopen(path, "re");
	if (!file)
		fail(path);
	while (fread(&aux, sizeof(aux), 1, file) == 1) {
		if (aux.a_type == AT_ENTRY) {
			fclose(file);
			return aux.a_un.a_val;
		}
	}
	errno = ENOENT;
	fail("AT_ENTRY");
}

/* Start the command; it stops at the end of its exec. */
static pid_t launch(char **command)
{
	int go[2], status;
	char byte;
	pid_t pid;

	if (pipe2(go, O_CLOEXEC))
		fail("pipe");
	pid = fork();
	if (pid < 0)
		fail("fork");
	if (pid == 0) {
		close(go[1]);
		if (read(go[0], &byte, 1) != 1)
			_exit(125);
		execvp(command[0], command);
		fail(command[0]);
	}
	close(go[0]);
	if (ptrace(PTRACE_SEIZE, pid, 0, PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL))
		fail("PTRACE_SEIZE");
	if (write(go[1], "", 1) != 1)
		fail("write");
	close(go[1]);
	if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status) ||
		status >> 16 != PTRACE_EVENT_EXEC)
		exit(127);
	return pid;
}

static void arm(pid_t pid, uint64_t addr)
{
	if (ptrace(PTRACE_POKEUSER, pid, DEBUGREG(0), addr) ||
		ptrace(PTRACE_POKEUSER, pid, DEBUGREG(7), DR7_WRITE8))
		fail("PTRACE_POKEUSER");
}

/* The loop that is measured. Returns the wait status of the end. */
static int loop(pid_t pid, bool clear, unsigned long *hits)
{
	struct user_regs_struct regs;
	int status, sig = 0;

	for (;;) {
		ptrace(PTRACE_CONT, pid, 0, sig);
		if (waitpid(pid, &status, __WALL) != pid)
			fail("waitpid");
		if (!WIFSTOPPED(status))
			return status;
		sig = status >> 16 ? 0 : WSTOPSIG(status);
		if (sig == SIGTRAP && (ptrace(PTRACE_PEEKUSER, pid, DEBUGREG(6), 0) & SLOT_BITS)) {
			ptrace(PTRACE_GETREGS, pid, 0, &regs);
			if (clear)
				ptrace(PTRACE_POKEUSER, pid, DEBUGREG(6), 0);
			++*hits;
			sig = 0;
		}
	}
}

/* The same by faults. */
static int loop_segv(pid_t pid, unsigned long *hits)
{
	struct user_regs_struct regs;
	int status, sig = 0;

	for (;;) {
		ptrace(PTRACE_CONT, pid, 0, sig);
		if (waitpid(pid, &status, __WALL) != pid)
			fail("waitpid");
		if (!WIFSTOPPED(status))
			return status;
		sig = status >> 16 ? 0 : WSTOPSIG(status);
		if (sig == SIGSEGV) {
			ptrace(PTRACE_GETREGS, pid, 0, &regs);
			regs.rip += WRITE_LENGTH;
			ptrace(PTRACE_SETREGS, pid, 0, &regs);
			++*hits;
			sig = 0;
		}
	}
}

static unsigned long long now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (unsigned long long)now.tv_sec * 1000000000ULL + (unsigned long long)now.tv_nsec;
}

int main(int argc, char **argv)
{
	struct options options = options_parse(argc, argv);
	uint64_t entry, addr = symbol_find(options.command[0], options.symbol, &entry);
	unsigned long long start;
	unsigned long hits = 0;
	int status;
	pid_t pid;

	if (options.print_only) {
		printf("0x%lx\n", addr);
		return 0;
	}
	pid = launch(options.command);
	if (!options.segv)
		arm(pid, addr + entry_find(pid) - entry);
	start = now_ns();
	status = options.segv ? loop_segv(pid, &hits) : loop(pid, options.clear, &hits);
	start = now_ns() - start;
	if (options.output && !freopen(options.output, "we", stdout))
		fail(options.output);
	printf("floor %lu %llu\n", hits, start);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
