/* insn.c: executes each instruction of insn_forms.h as often as asked, on a variable that is set before by
 * the kernel, whose writes are no hits. insn COUNT: prints what each function should have: name, hits,
 * reads, writes; "-" in place of numbers for what this processor does not have, 0-COUNT for what it is free
 * to report. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#define FORM_END "jmp form_return"
#include "insn_run.h"

#define WATCHED 8

/* What a form leaves around the bytes is cleared, and the bytes are set. */
static void form_set(int memory, const struct form *form)
{
	static const unsigned char zero[MEMORY_BYTES];
	long offset = form_area - form_memory;

	if (pwrite(memory, zero, sizeof(zero), 0) != sizeof(zero) ||
		pwrite(memory, form->data, WATCHED, offset) != WATCHED ||
		pread(memory, form_memory, MEMORY_BYTES, 0) != MEMORY_BYTES)
		exit(3);
	memset(form_other, 0, sizeof(form_other));
}

int main(int argc, char **argv)
{
	int memory = memfd_create("insn", 0), count = argc > 1 ? atoi(argv[1]) : 1;

	forms_prepare();
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		const struct form *form = &forms[i];
		bool is_none = form->kind[0] == '-' || strstr(form->kind, "off");

		if (form->needs == CLFLUSH) { /* some processors report it, some do not */
			for (int n = 0; n < count; n++)
				form_run(form->start);
			printf("form_%s 0-%d 0-%d 0\n", form->name, count, count);
			continue;
		}
		if (!form_can_run(form)) {
			printf("form_%s -\n", form->name);
			continue;
		}
		for (int n = 0; n < count; n++) {
			form_set(memory, form);
			form_run(form->start);
		}
		printf("form_%s %d %d %d\n", form->name, is_none ? 0 : count,
			!is_none && form->kind[0] == 'r' ? count : 0, !is_none && strchr(form->kind, 'w') ? count : 0);
	}
	return 0;
}
