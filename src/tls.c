/* tls.c owns the way from a thread-local variable to its address in one thread. It is the only user of
 * libthread_db, to which it lends its eyes (proc_service.h) and no hands: nothing is ever written.
 *
 * The executable's own variables need no library: their distance from the thread pointer is fixed when
 * it is linked. So they are found in static programs and with any C library. */
#include "watchprof/tls.h"

#include "watchprof/sys.h"
#include "watchprof/util.h"

#include <proc_service.h>
#include <stdlib.h>
#include <thread_db.h>

/* What libthread_db knows of a process. */
struct ps_prochandle {
	struct symbols *symbols;
	pid_t tid; /* the thread that is asked about, through which memory is read */
	uint64_t thread_pointer;
};

/* How the target's C library describes a field of its own to debuggers (its nptl_db/structs.def). */
struct descriptor {
	uint32_t bits, count, offset;
};

struct tls {
	struct ps_prochandle process;
	td_thragent_t *agent; /* NULL: not tried yet, or in vain */
	td_err_e failure;
	/* Fields from the thread pointer to a module's entry; read with the agent. */
	struct descriptor vector, module_id, entry, entry_value;
	/* Modules that were asked for, and their struct link_map: a forked child may outlive the process
	 * whose lists are read. */
	struct {
		uint64_t module, map;
	} maps[WATCHES_MAX];
};

struct tls *tls_new(struct symbols *symbols)
{
	struct tls *tls = mem_new(1, sizeof(*tls));

	tls->process.symbols = symbols;
	return tls;
}

void tls_free(struct tls *tls)
{
	if (!tls)
		return;
	if (tls->agent)
		td_ta_delete(tls->agent);
	free(tls);
}

static bool read_at(const struct tls *tls, uint64_t addr, void *out, size_t len)
{
	return sys_memory_read(tls->process.tid, addr, out, len) == (ssize_t)len;
}

static bool describe(struct tls *tls, const char *name, struct descriptor *out)
{
	uint64_t addr = symbols_export(tls->process.symbols, name);

	return addr && read_at(tls, addr, out, sizeof(*out));
}

/* Find the C library's descriptions of itself. False, and again the next time: it has none that fit. */
static bool agent_begin(struct tls *tls)
{
	if (tls->agent)
		return true;
	td_init();
	tls->failure = td_ta_new(&tls->process, &tls->agent);
	if (tls->failure != TD_OK) {
		tls->agent = NULL;
		return false;
	}
	if (describe(tls, "_thread_db_pthread_dtvp", &tls->vector) &&
		describe(tls, "_thread_db_link_map_l_tls_modid", &tls->module_id) &&
		describe(tls, "_thread_db_dtv_dtv", &tls->entry) &&
		describe(tls, "_thread_db_dtv_t_pointer_val", &tls->entry_value))
		return true;
	td_ta_delete(tls->agent);
	tls->agent = NULL;
	tls->failure = TD_NOCAPAB;
	return false;
}

int tls_check(struct tls *tls, uint64_t module, const char *name, struct err *err)
{
	struct ps_prochandle *process = &tls->process;
	uint64_t below;

	if (symbols_exe_tls(process->symbols, module, &below))
		return 0;
	process->tid = symbols_tid(process->symbols);
	if (agent_begin(tls))
		return 0;
	return err_set(err, "%s: a thread-local variable of a library, %s; give the address of one thread's", name,
		tls->failure == TD_VERSION
			? "and the process's C library is another version than the libthread_db of this system"
			: "and the process's C library does not tell debuggers where its threads have such variables "
			  "(glibc does)");
}

/* Where a thread will note that it has got its own block of a module: in the module's entry of the
 * vector that the thread has, or in a new vector. */
static void find_due(const struct tls *tls, uint64_t thread_pointer, uint64_t map, struct place *out)
{
	const uint64_t entry_len = tls->entry.bits / 8, at = thread_pointer + tls->vector.offset;
	uint64_t id, vector, length;

	if (!read_at(tls, map + tls->module_id.offset, &id, sizeof(id)) || !id ||
		!read_at(tls, at, &vector, sizeof(vector)) ||
		!read_at(tls, vector - entry_len, &length, sizeof(length)))
		return;
	/* Entry -1 has the length, entry 0 a generation (glibc, elf/dl-tls.c). */
	out->due = id <= length ? vector + id * entry_len + tls->entry_value.offset : at;
	out->moved = id <= length ? at : 0;
}

static uint64_t find_map(struct tls *tls, uint64_t module)
{
	uint64_t map = symbols_link_map(tls->process.symbols, module);
	size_t i = 0;

	while (i < WATCHES_MAX - 1 && tls->maps[i].module && tls->maps[i].module != module)
		i++;
	if (!map)
		return tls->maps[i].module == module ? tls->maps[i].map : 0;
	tls->maps[i].module = module;
	tls->maps[i].map = map;
	return map;
}

void tls_locate(void *context, pid_t tid, uint64_t thread_pointer, uint64_t module, uint64_t offset,
	struct place *out)
{
	struct tls *tls = context;
	uint64_t below, map;
	td_thrhandle_t thread;
	psaddr_t addr;

	*out = (struct place){0};
	if (!thread_pointer)
		return; /* at the very start of a program */
	if (symbols_exe_tls(tls->process.symbols, module, &below)) {
		out->addr = thread_pointer - below + offset;
		return;
	}
	tls->process.tid = tid;
	tls->process.thread_pointer = thread_pointer;
	map = find_map(tls, module);
	if (!map || !agent_begin(tls))
		return;
	if (td_ta_map_lwp2thr(tls->agent, tid, &thread) == TD_OK &&
		td_thr_tls_get_addr(&thread, (psaddr_t)(uintptr_t)map, offset, &addr) == TD_OK)
		out->addr = (uint64_t)(uintptr_t)addr;
	else
		find_due(tls, thread_pointer, map, out);
}

/* What libthread_db asks for. Its other requests are declined. */

ps_err_e ps_pdread(struct ps_prochandle *process, psaddr_t addr, void *out, size_t len)
{
	return sys_memory_read(process->tid, (uint64_t)(uintptr_t)addr, out, len) == (ssize_t)len ? PS_OK
												  : PS_ERR;
}

ps_err_e ps_pdwrite(struct ps_prochandle *process, psaddr_t addr, const void *bytes, size_t len)
{
	(void)process, (void)addr, (void)bytes, (void)len;
	return PS_ERR;
}

pid_t ps_getpid(struct ps_prochandle *process)
{
	return process->tid;
}

ps_err_e ps_get_thread_area(struct ps_prochandle *process, lwpid_t lwp, int which, psaddr_t *out)
{
	(void)which; /* fs: the only one that glibc uses on x86-64 */
	if (lwp != process->tid)
		return PS_BADLID;
	*out = (psaddr_t)(uintptr_t)process->thread_pointer;
	return PS_OK;
}

ps_err_e ps_pglobal_lookup(struct ps_prochandle *process, const char *object, const char *name, psaddr_t *out)
{
	uint64_t addr = symbols_export(process->symbols, name);

	(void)object; /* libc.so.6 or, before glibc 2.34, libpthread.so.0 */
	*out = (psaddr_t)(uintptr_t)addr;
	return addr ? PS_OK : PS_NOSYM;
}

ps_err_e ps_lgetregs(struct ps_prochandle *process, lwpid_t lwp, prgregset_t registers)
{
	(void)process, (void)lwp, (void)registers;
	return PS_ERR;
}

ps_err_e ps_lsetregs(struct ps_prochandle *process, lwpid_t lwp, const prgregset_t registers)
{
	(void)process, (void)lwp, (void)registers;
	return PS_ERR;
}

ps_err_e ps_lgetfpregs(struct ps_prochandle *process, lwpid_t lwp, prfpregset_t *registers)
{
	(void)process, (void)lwp, (void)registers;
	return PS_ERR;
}

ps_err_e ps_lsetfpregs(struct ps_prochandle *process, lwpid_t lwp, const prfpregset_t *registers)
{
	(void)process, (void)lwp, (void)registers;
	return PS_ERR;
}
